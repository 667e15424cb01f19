// SPDX-License-Identifier: Apache-2.0
// hrtimer: timers armed on the CPU that nobody waits for: each is an interrupt with one callback.
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/descriptor.h"
#include "base/monotonic.h"
#include "selftest/crew.h"
#include "selftest/generator.h"
#include "selftest/kernel_count.h"

namespace noised::selftest {
namespace {

constexpr std::uint64_t kPeriod = 500'000;
constexpr std::size_t kBatch = 64;
constexpr std::uint64_t kAhead = 1'000'000;  // arming a batch takes less

struct Timers {
  std::vector<Descriptor> descriptors;
  std::vector<Occurrence> expired;
  std::uint64_t unexpired = 0;
  int error = 0;

  void arm(std::uint64_t first_ns, std::uint64_t period) {
    for (std::size_t i = 0; i < descriptors.size(); ++i) {
      const std::uint64_t at = first_ns + i * period;
      itimerspec once{};
      once.it_value.tv_sec = static_cast<time_t>(at / 1'000'000'000);
      once.it_value.tv_nsec = static_cast<long>(at % 1'000'000'000);
      if (timerfd_settime(descriptors[i].get(), TFD_TIMER_ABSTIME, &once, nullptr) != 0) error = errno;
    }
  }

  // The kernel says whether each has expired by now.
  void collect(std::uint64_t first_ns, std::uint64_t period) {
    const std::size_t before = expired.size();
    for (std::size_t i = 0; i < descriptors.size(); ++i) {
      std::uint64_t times = 0;
      if (read(descriptors[i].get(), &times, sizeof times) != sizeof times) {
        ++unexpired;
        continue;
      }
      Occurrence expiry;
      expiry.start_ns = first_ns + i * period;
      expiry.count = times;
      expired.push_back(expiry);
    }
    const std::uint64_t now = monotonic_ns();
    for (std::size_t i = before; i < expired.size(); ++i) expired[i].end_ns = now;
  }
};

void run(Timers& timers, std::uint64_t period, const Window& window) {
  const std::uint64_t batch_ns = timers.descriptors.size() * period + 2 * kAhead;
  for (std::uint64_t next = window.start_ns; next + batch_ns < window.end_ns && timers.error == 0; next += batch_ns) {
    sleep_until(next);
    timers.arm(next + kAhead, period);
    sleep_until(next + batch_ns);
    timers.collect(next + kAhead, period);
  }
}

}  // namespace

Result<Truth> generate_hrtimer(const GeneratorOptions& options) {
  const std::uint64_t period = options.period_ns.value_or(kPeriod);
  Timers timers;
  for (std::size_t i = 0; i < kBatch; ++i) {
    timers.descriptors.emplace_back(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    if (!timers.descriptors.back()) return refused("timerfd_create", errno);
  }
  timers.expired.reserve(options.duration_ns / period + kBatch);
  Crew crew;
  crew.add(on_cpu(options, "noised-hrtimer"), [&](const Window& window) { run(timers, period, window); });
  const auto before = interrupts_on(options.cpu, "LOC");
  const Result<Window> window = crew.run(options.duration_ns);
  const auto after = interrupts_on(options.cpu, "LOC");
  if (!window) return window.error();
  if (timers.error != 0) return refused("timerfd_settime", timers.error);
  if (timers.unexpired != 0) return failure(std::to_string(timers.unexpired) + " timers were armed but did not expire");
  // Two that expire together share an interrupt, but not every two.
  if (before && after && *after - *before < timers.expired.size() / 2)
    return unsupported("the kernel runs timers of CPU " + std::to_string(options.cpu) + " elsewhere: it is nohz_full");
  Truth truth;
  truth.how = "timerfd, armed on the CPU";
  truth.sources = {{"hrtimer", "timerfd_tmrproc"}};
  truth.first_ns = window.value().start_ns;
  truth.last_ns = window.value().final_ns;
  truth.occurrences = std::move(timers.expired);
  return truth;
}

}  // namespace noised::selftest
