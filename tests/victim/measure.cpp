// SPDX-License-Identifier: Apache-2.0
// Preparing a run, and turning its ticks into times.
#include "victim/measure.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/cpus.h"
#include "base/text.h"
#include "system/steal_clock.h"
#include "victim/work_loop.h"

namespace noised::victim {
using namespace noised::system;

namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kSampleNs = 1'000'000;
constexpr std::uint64_t kSpinsPerSleep = 20;  // of a sleep, one part is what it runs after it
constexpr std::uint64_t kShortestSpinNs = 20'000;
constexpr std::uint64_t kGapsPerSecond = 40'000;  // storms of the host and of timers, with much to spare
constexpr std::uint64_t kMostGaps = std::uint64_t{16} << 20U;

// As many ticks as these nanoseconds, by two samples 20 ms apart: right within 10 ppm.
class TickRate {
 public:
  TickRate() {
    map_.add(read_clock_sample());
    while (!map_.ready()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      map_.add(read_clock_sample());
    }
  }
  [[nodiscard]] std::uint64_t ticks(std::uint64_t ns) const { return map_.to_ticks(ns); }

 private:
  ClockMap map_;
};

Status settle(unsigned cpu) {
  const CpuSet own({cpu});
  if (sched_setaffinity(0, own.bytes(), own.get()) != 0)
    return failure("running on CPU " + std::to_string(cpu) + ": " + errno_text(errno));
  // A sleep may end 50 us after its time otherwise, which would pass for lateness.
  prctl(PR_SET_TIMERSLACK, 1UL);
  return success();
}

std::size_t capacity(std::uint64_t duration_ns, std::uint64_t per_second) {
  return std::min(kMostGaps, (duration_ns / kSecondNs + 1) * per_second);
}

LoopOptions in_ticks(const VictimOptions& options) {
  const TickRate rate;
  LoopOptions loop;
  loop.duration = rate.ticks(options.duration_ns);
  loop.threshold = rate.ticks(options.threshold_ns);
  loop.sample = rate.ticks(kSampleNs);
  if (options.faults_per_second != 0) loop.fault = rate.ticks(kSecondNs) / options.faults_per_second;
  if (options.sleep_ns != 0) loop.spin = rate.ticks(std::max(options.sleep_ns / kSpinsPerSleep, kShortestSpinNs));
  loop.sleep_ns = options.sleep_ns;
  return loop;
}

std::uint64_t steal_of(StealClock& clock, unsigned cpu) {
  const auto& stolen_ns = clock.read();
  return cpu < stolen_ns.size() ? stolen_ns[cpu] : 0;
}

void tell_times(const LoopRecords& records, const ClockMap& map, Account& account) {
  account.first_ns = map.to_ns(records.first);
  account.last_ns = map.to_ns(records.last);
  for (const TickGap& gap : records.gaps.items()) account.gaps.push_back({map.to_ns(gap.start), map.to_ns(gap.end)});
  std::uint64_t unknown_ns = 0;
  for (const TickSleep& sleep : records.sleeps.items()) {
    const std::uint64_t start_ns = map.to_ns(sleep.start);
    const std::uint64_t end_ns = map.to_ns(sleep.end);
    const std::uint64_t due_ns = std::clamp(sleep.due_ns, start_ns, end_ns);  // a signal wakes up too
    // Who lost its CPU on the way to its sleep was awake until it had it again: since when it slept is not known.
    account.sleeps.push_back({sleep.at_once ? start_ns : due_ns, due_ns, end_ns});
    if (!sleep.at_once) unknown_ns += due_ns - start_ns;
  }
  account.gaps_missed = records.gaps.missed() + records.sleeps.missed();
  account.calls_ns = map.to_ns(records.first + records.calls) - account.first_ns + unknown_ns;
  account.faults = records.faults;
  account.iterations = records.iterations;
  account.clock_uncertainty_ns = map.uncertainty_ns();
}

}  // namespace

ClockMap map_of(std::span<const ClockSample> samples, std::uint64_t stretch_ticks) {
  ClockMap map;
  for (auto at = samples.begin(); at != samples.end();) {
    const std::uint64_t end = at->ticks + stretch_ticks;
    const auto next = std::find_if(at, samples.end(), [end](const ClockSample& each) { return each.ticks >= end; });
    map.add(*std::min_element(
        at, next, [](const ClockSample& a, const ClockSample& b) { return a.half_width_ticks < b.half_width_ticks; }));
    at = next;
  }
  return map;
}

Result<Account> measure(const VictimOptions& options, const std::function<Status()>& ready,
                        const volatile std::sig_atomic_t& stop) {
  if (const Status tsc = check_tsc(); !tsc) return tsc.error();
  if (const Status settled = settle(options.cpu); !settled) return settled.error();
  const Result<KernelCounter> counter = KernelCounter::open();
  if (!counter) return counter.error();
  Result<StealClock> steal = StealClock::open();
  if (!steal) return steal.error();
  const LoopOptions loop = in_ticks(options);
  const std::uint64_t sleeps_per_second = options.sleep_ns == 0 ? 0 : kSecondNs / options.sleep_ns + 1;
  LoopRecords records{Log<TickGap>(capacity(options.duration_ns, kGapsPerSecond)),
                      Log<TickSleep>(capacity(options.duration_ns, sleeps_per_second)),
                      Log<ClockSample>(capacity(options.duration_ns, kSecondNs / kSampleNs + 1))};
  mlockall(MCL_CURRENT);                            // without the right to, the kernel's count of faults will tell
  Result<FaultMemory> memory = FaultMemory::map();  // after that: locked pages cannot be given back
  if (!memory) return memory.error();
  if (const Status told = ready(); !told) return told.error();

  const std::uint64_t steal_before = steal_of(steal.value(), options.cpu);
  const Result<KernelCounts> before = counter.value().read();
  run_work_loop(loop, memory.value(), stop, records);
  const Result<KernelCounts> after = counter.value().read();
  if (!before) return before.error();
  if (!after) return after.error();

  Account account;
  account.steal_ns = steal_of(steal.value(), options.cpu) - steal_before;
  account.pid = static_cast<unsigned>(gettid());
  account.cpu = options.cpu;
  account.threshold_ns = options.threshold_ns;
  account.status = after.value().since(before.value());
  const ClockMap map = map_of(records.samples.items(), std::max(25 * loop.sample, loop.duration / 2000));
  if (!map.ready()) return failure("the run was too short to know its times", "let it take a second");
  tell_times(records, map, account);
  return account;
}

}  // namespace noised::victim
