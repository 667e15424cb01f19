// SPDX-License-Identifier: Apache-2.0
// hrtimer: timers armed on the CPU that nobody waits for: each is an interrupt with one callback.
#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/clocks.h"
#include "base/files.h"
#include "selftest/generator.h"
#include "selftest/generator_threads.h"
#include "selftest/kernel_count.h"

namespace noised::selftest {
namespace {

constexpr std::uint64_t kHrtimerPeriod = 500'000;
constexpr std::size_t kBatch = 64;
// Arming a batch takes less, even where the machine is emulated. A timer armed too late would be none: Linux 7.2 does
// not queue it, but calls what it would have called.
constexpr std::uint64_t kAhead = 5'000'000;
// PREEMPT_RT lets a thread run their callbacks, when it can.
constexpr std::uint64_t kHrtimerPatience = 10'000'000;
constexpr unsigned kTimesPatient = 20;

struct Timers {
  std::vector<Descriptor> descriptors;
  std::vector<Occurrence> expired;
  std::uint64_t unexpired = 0;
  int error = 0;

  [[nodiscard]] bool all_expired() const {
    std::vector<pollfd> each;
    each.reserve(descriptors.size());
    for (const Descriptor& timer : descriptors) each.push_back({timer.get(), POLLIN, 0});
    return poll(each.data(), each.size(), 0) == static_cast<int>(each.size());
  }

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
  const std::uint64_t batch_ns = timers.descriptors.size() * period;
  sleep_until(window.start_ns);
  while (timers.error == 0) {
    const std::uint64_t first_ns = monotonic_ns() + kAhead;
    if (first_ns + batch_ns >= window.end_ns) return;
    timers.arm(first_ns, period);
    sleep_until(first_ns + batch_ns);
    for (unsigned i = 0; i < kTimesPatient && !timers.all_expired(); ++i)
      sleep_until(monotonic_ns() + kHrtimerPatience);
    timers.collect(first_ns, period);
  }
}

}  // namespace

Result<Truth> generate_hrtimer(const GeneratorOptions& options) {
  const std::uint64_t period = options.period(kHrtimerPeriod);
  Timers timers;
  for (std::size_t i = 0; i < kBatch; ++i) {
    timers.descriptors.emplace_back(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    if (!timers.descriptors.back()) return refused("timerfd_create", errno);
  }
  timers.expired.reserve(options.duration_ns / period + kBatch);
  GeneratorThreads threads;
  threads.add(on_cpu(options, "noised-hrtimer"), [&](const Window& window) { run(timers, period, window); });
  const auto before = interrupts_on(options.cpu, "LOC");
  const Result<Window> window = threads.run(options.duration_ns, options.slower);
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
