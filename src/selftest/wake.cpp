// SPDX-License-Identifier: Apache-2.0
// wake: a thread that sleeps on the CPU until another one, on another CPU, wakes it.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/descriptor.h"
#include "selftest/crew.h"
#include "selftest/generator.h"
#include "selftest/work_for.h"

namespace noised::selftest {
namespace {

constexpr std::uint64_t kPeriod = 20'000'000;
constexpr const char* kName = "noised-wake";
constexpr const char* kWaker = "noised-waker";

void sleep_and_work(int event, std::uint64_t work_ns, std::vector<Occurrence>& out) {
  const unsigned pid = thread_id();
  std::uint64_t woke_cpu_ns = 0;
  Occurrence* previous = nullptr;
  for (Occurrence& activation : out) {
    std::uint64_t one = 0;
    while (read(event, &one, sizeof one) < 0 && errno == EINTR) {
    }
    charge(woke_cpu_ns, previous);
    activation = work_for(work_ns);
    activation.pid = pid;
    previous = &activation;
  }
}

void wake(int event, std::uint64_t period, std::size_t times, const Window& window) {
  for (std::size_t i = 0; i < times; ++i) {
    sleep_until(window.start_ns + i * period);
    eventfd_write(event, 1);
  }
}

}  // namespace

Result<Truth> generate_wake(const GeneratorOptions& options) {
  // A semaphore: a sleeper that the host holds up misses no wakeup.
  const Descriptor event(eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC));
  if (!event) return refused("eventfd", errno);
  Truth truth;
  truth.shape = Shape::activations;
  truth.how = std::string(kName) + " woken by " + kWaker;
  truth.sources = {{"task", kName}};
  truth.waker = kWaker;
  const std::uint64_t period = options.period_ns.value_or(std::max(kPeriod, 10 * options.work_ns));
  truth.occurrences.resize(options.duration_ns / period);
  Crew crew;
  crew.add(on_cpu(options, kName),
           [&](const Window&) { sleep_and_work(event.get(), options.work_ns, truth.occurrences); });
  crew.add(elsewhere(options, kWaker),
           [&](const Window& window) { wake(event.get(), period, truth.occurrences.size(), window); });
  const Result<Window> window = crew.run(options.duration_ns);
  if (!window) return window.error();
  truth.first_ns = window.value().start_ns;
  truth.last_ns = window.value().final_ns;
  return truth;
}

}  // namespace noised::selftest
