// SPDX-License-Identifier: Apache-2.0
// One thread for each CPU, which sleeps until a detour is to begin, and spins until it is to end. The ways into the
// thread and out of it are part of the detour: it spins so much less.
#include "selftest/noise_replay.h"

#include <algorithm>
#include <cmath>

#include <sys/resource.h>

#include <fmt/format.h>

#include "base/clocks.h"
#include "selftest/generator_threads.h"

namespace noised::selftest {
namespace {

constexpr int kFirstOfAll = -20;  // nice
constexpr std::uint64_t kWakeups = 40;
constexpr std::uint64_t kWakeupPeriod = 10'000'000;
constexpr std::size_t kLeastWakeups = 20;
// A reading of the clock takes less than that, also where a machine is emulated; what is longer is a gap.
constexpr std::uint64_t kGap = 1'000;
constexpr std::size_t kGaps = 65536;
constexpr const char* kMeasuring = "replay-ways";  // no detour of these threads is one that was made
// Of a length, and beside what reading the clock takes.
constexpr double kLonger = 0.02;
constexpr std::uint64_t kLongerNs = 1'000;

struct ClockGap {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
};

/// What happens on one CPU while its ways are measured: an ordinary thread reads the clock, and a real-time one wakes
/// up. Of a program that is there already, the first takes all but 1% of its time: were it a real-time one, too, the
/// way back would be another, and each detour of a program 5 us too long.
struct Ways {
  std::vector<ClockGap> gaps;
  std::vector<std::uint64_t> woke_ns;

  void watch(const Window& window) {
    (void)setpriority(PRIO_PROCESS, thread_id(), kFirstOfAll);
    sleep_until(window.start_ns);
    std::uint64_t last = monotonic_ns();
    while (last < window.end_ns) {
      const std::uint64_t now = monotonic_ns();
      if (now - last > kGap && gaps.size() < gaps.capacity()) gaps.push_back({last, now});
      last = now;
    }
  }
  void wake(const Window& window) {
    for (std::uint64_t i = 1; i <= kWakeups; ++i) {
      sleep_until(window.start_ns + i * kWakeupPeriod);
      woke_ns.push_back(monotonic_ns());
    }
    sleep_until(window.end_ns);
  }
  /// The median of the gaps that a wakeup lies in; 0: there are too few.
  [[nodiscard]] std::uint64_t median_ns() const {
    std::vector<std::uint64_t> lengths;
    auto gap = gaps.begin();
    for (const std::uint64_t woke : woke_ns) {
      gap = std::find_if(gap, gaps.end(), [woke](const ClockGap& each) { return each.end_ns > woke; });
      if (gap == gaps.end()) break;
      if (gap->start_ns <= woke) lengths.push_back(gap->end_ns - gap->start_ns);
    }
    if (lengths.size() < kLeastWakeups) return 0;
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::nth_element(lengths.begin(), middle, lengths.end());
    return *middle;
  }
};

/// Memory is there before it begins: a page fault would be one more detour.
struct Replay {
  const ReplayPlan& plan;
  ReplayedCpu done;
  double late_sum = 0;
  double error_sum = 0;
  double error_squares = 0;

  void run(const Window& window) {
    for (const PlannedDetour& detour : *plan.detours) {
      if (detour.length_ns <= done.ways_ns) {
        ++done.too_short;
        done.too_short_ns += detour.length_ns;
        continue;
      }
      const std::uint64_t begin = window.start_ns + detour.at_ns;
      // Right behind another: the thread did not leave the CPU, and has the way that it did not go still to make up.
      const bool behind = monotonic_ns() >= begin;
      if (!behind) sleep_until(begin);
      const std::uint64_t woke = monotonic_ns();
      const std::uint64_t end = woke + detour.length_ns - (behind ? 0 : done.ways_ns);
      std::uint64_t now = woke;
      while (now < end) now = monotonic_ns();
      note(detour, woke - std::min(woke, begin), now - woke + (behind ? 0 : done.ways_ns));
    }
  }
  void note(const PlannedDetour& detour, std::uint64_t late_ns, std::uint64_t made_ns) {
    ++done.detours;
    late_sum += static_cast<double>(late_ns);
    done.most_late_ns = std::max(done.most_late_ns, late_ns);
    const double error = static_cast<double>(made_ns) - static_cast<double>(detour.length_ns);
    error_sum += error;
    error_squares += error * error;
    if (error > kLonger * static_cast<double>(detour.length_ns) + static_cast<double>(kLongerNs)) ++done.longer;
  }
  [[nodiscard]] ReplayedCpu finish() {
    const auto count = static_cast<double>(done.detours);
    if (done.detours == 0) return done;
    done.late_ns = late_sum / count;
    done.error_ns = error_sum / count;
    done.error_deviation_ns = std::sqrt(std::max(0.0, error_squares / count - done.error_ns * done.error_ns));
    return done;
  }
};

Status measure_ways(std::span<Replay> replays, int priority) {
  std::vector<Ways> ways(replays.size());
  GeneratorThreads threads;
  for (std::size_t i = 0; i < replays.size(); ++i) {
    Ways& each = ways[i];
    each.gaps.reserve(kGaps);
    each.woke_ns.reserve(kWakeups);
    const unsigned cpu = replays[i].plan.cpu;
    threads.add({kMeasuring, cpu, true, priority}, [&each](const Window& window) { each.wake(window); });
    threads.add({kMeasuring, cpu, false, 0}, [&each](const Window& window) { each.watch(window); });
  }
  const Result<Window> window = threads.run((kWakeups + 2) * kWakeupPeriod, 1);
  if (!window) return window.error();
  for (std::size_t i = 0; i < replays.size(); ++i) {
    replays[i].done.ways_ns = ways[i].median_ns();
    if (replays[i].done.ways_ns != 0) continue;
    return failure(fmt::format("CPU {} is too busy to measure what waking up takes there", replays[i].plan.cpu),
                   "leave it to what is replayed, and to the program that is to suffer from it");
  }
  return success();
}

}  // namespace

Result<std::vector<ReplayedCpu>> replay_noise(std::span<const ReplayPlan> plans, int priority,
                                              const std::string& name) {
  std::vector<Replay> replays;
  replays.reserve(plans.size());
  std::uint64_t last_ns = 0;
  for (const ReplayPlan& plan : plans) {
    replays.push_back({plan, {}});
    replays.back().done.cpu = plan.cpu;
    for (const PlannedDetour& each : *plan.detours) last_ns = std::max(last_ns, each.at_ns + each.length_ns);
  }
  if (Status measured = measure_ways(replays, priority); !measured) return measured.error();
  GeneratorThreads threads;
  for (Replay& each : replays)
    threads.add({name, each.plan.cpu, true, priority}, [&each](const Window& window) { each.run(window); });
  const Result<Window> window = threads.run(last_ns, 1);
  if (!window) return window.error();
  std::vector<ReplayedCpu> done;
  done.reserve(replays.size());
  for (Replay& each : replays) done.push_back(each.finish());
  return done;
}

}  // namespace noised::selftest
