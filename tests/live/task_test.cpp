// SPDX-License-Identifier: Apache-2.0
// A task that takes the CPU is named, and its time is what it measured itself.
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clocks.h"
#include "loads.h"
#include "measurement.h"
#include "system/steal_clock.h"
#include "task_clock.h"
#include "views/views.h"

using namespace noised;
using namespace noised::live;

namespace {

struct Period {
  std::uint64_t start_ns;  ///< and the end: of its work, CLOCK_MONOTONIC
  std::uint64_t end_ns;
  std::uint64_t had_ns;  ///< from switch to switch
};

struct Periods {
  std::vector<Period> activations;
  std::uint64_t stretches = 0;  ///< activations that followed a sleep; the host can make one so late that none was left
  std::uint64_t elsewhere = 0;  ///< activations on another CPU: somebody changed the thread's affinity
};

// Runs 2 ms every 20 ms on the CPU. Real time, so that each activation is one stretch of running.
Periods run_periodically(unsigned cpu, std::uint64_t milliseconds) {
  Periods truth;
  std::jthread([&truth, cpu, milliseconds] {
    prctl(PR_SET_NAME, "noised-truth");
    const TaskClock clock;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    const sched_param priority{2};
    if (sched_setaffinity(0, sizeof(set), &set) != 0 || sched_setscheduler(0, SCHED_FIFO, &priority) != 0) return;
    std::uint64_t woken_ns = 0;
    const std::uint64_t end = monotonic_ns() + milliseconds * 1'000'000;
    for (std::uint64_t next = monotonic_ns() + 20'000'000;; next += 20'000'000) {
      const timespec until{static_cast<time_t>(next / 1'000'000'000), static_cast<long>(next % 1'000'000'000)};
      if (next < end && monotonic_ns() < next) ++truth.stretches;
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
      const std::uint64_t had_ns = clock.ns();
      if (!truth.activations.empty()) truth.activations.back().had_ns = had_ns - woken_ns;
      woken_ns = had_ns;
      if (next >= end) break;
      const std::uint64_t start = monotonic_ns();
      std::uint64_t now = start;
      while (now - start < 2'000'000) now = monotonic_ns();
      truth.activations.push_back({start, now, 0});
      if (sched_getcpu() != static_cast<int>(cpu)) ++truth.elsewhere;
    }
  }).join();
  return truth;
}

bool is_truth(const DetourEntryView& entry) { return entry.kind == "task" && entry.name == "noised-truth"; }

// What ran inside the task belongs to others in the ledger, but to the task by its clock. A task that takes the CPU
// from it and gives it back (every 4 s the kernel's watchdog has migration/N run there for some us) is between its
// first and its last instruction, but not in its clock.
struct OfTask {
  std::uint64_t own_ns = 0;     ///< with what ran inside
  std::uint64_t others_ns = 0;  ///< between two parts of it
};

OfTask of_task(const DetourView& detour) {
  OfTask sum;
  std::uint64_t others = 0;
  bool begun = false;
  bool inside = false;
  for (const DetourEntryView& entry : detour.entries) {
    if (entry.depth == 0) inside = is_truth(entry);
    if (entry.depth == 0 && inside) {
      begun = true;
      sum.others_ns += std::exchange(others, 0);
    }
    if (begun) (inside ? sum.own_ns : others) += entry.self_ns;
  }
  return sum;
}

// One detour against the activations in it.
struct PeriodsCompared {
  std::uint64_t activations = 0;
  std::uint64_t worked_ns = 0;
  std::uint64_t had_ns = 0;
  OfTask seen;
  std::string told;
};

std::vector<PeriodsCompared> compare_periods(const Periods& truth, const std::vector<DetourView>& detours) {
  std::vector<PeriodsCompared> all;
  for (const DetourView& detour : detours) {
    if (std::none_of(detour.entries.begin(), detour.entries.end(), is_truth)) continue;
    PeriodsCompared one;
    for (const Period& activation : truth.activations) {
      if (activation.start_ns < detour.start_ns || activation.end_ns > detour.start_ns + detour.duration_ns) continue;
      ++one.activations;
      one.worked_ns += activation.end_ns - activation.start_ns;
      one.had_ns += activation.had_ns;
    }
    one.seen = of_task(detour);
    one.told = views::to_text(detour);
    if (one.activations != 0) all.push_back(one);
  }
  return all;
}

std::uint64_t apart(std::uint64_t one, std::uint64_t other) { return std::max(one, other) - std::min(one, other); }

}  // namespace

TEST_CASE("tasks: one that runs 2 ms every 20 ms is named, counted and timed within 1%", "[core]") {
  const unsigned cpu = probed_cpu();
  Periods truth;
  auto steal = system::StealClock::open().value();
  Measurement measurement(cpu);
  measurement.begin();
  const std::uint64_t stolen_before_ns = steal.read().at(cpu);
  measurement.run(4000, [&] { truth = run_periodically(cpu, 3800); });
  const std::uint64_t stolen_ns = steal.read().at(cpu) - stolen_before_ns;
  measurement.end();
  const Report report = measurement.report();
  const Seen task = seen(report, "task", "noised-truth");
  REQUIRE(truth.activations.size() > 100);
  REQUIRE(truth.elsewhere == 0);
  INFO("by its own clock " << truth.activations.size() << " times (" << truth.stretches << " after a sleep), noised "
                           << task.count << " times, " << task.total_ns << " ns; incomplete "
                           << report.lost.incomplete_detours);
  // Beside its activations, the thread runs briefly when it moves to the CPU and when it ends.
  CHECK(task.count >= truth.stretches);
  CHECK(task.count <= truth.activations.size() + 4);

  std::uint64_t found = 0;
  std::uint64_t struck = 0;
  std::uint64_t struck_ns = 0;
  const std::uint64_t gap_ns = switch_gap_ns(cpu);
  std::uint64_t had_ns = 0;
  std::uint64_t seen_ns = 0;
  std::uint64_t others_ns = 0;
  for (const PeriodsCompared& one : compare_periods(truth, measurement.detours())) {
    found += one.activations;
    INFO("noised tells:\n  " << one.told);
    CHECK(one.seen.own_ns + one.seen.others_ns + 1'000 >= one.worked_ns);  // the clocks' uncertainty
    // The host took the CPU within a switch, where noised and the kernel's clock do not begin, or end, together.
    if (one.seen.own_ns > one.had_ns + 200'000) {
      ++struck;
      struck_ns += one.seen.own_ns - one.had_ns;
      continue;
    }
    had_ns += one.had_ns + one.activations * gap_ns;
    seen_ns += one.seen.own_ns;
    others_ns += one.seen.others_ns;
  }
  std::string missing;
  for (const auto& [start, end, had] : truth.activations) {
    const auto around = [&, s = start, e = end](const DetourView& d) {
      return d.start_ns <= s && e <= d.start_ns + d.duration_ns &&
             std::any_of(d.entries.begin(), d.entries.end(), is_truth);
    };
    const auto& all = measurement.detours();
    if (std::any_of(all.begin(), all.end(), around)) continue;
    missing += "\n" + std::to_string(start) + " to " + std::to_string(end) + ", where noised saw:";
    for (const DetourView& d : all) {
      if (d.start_ns < end && d.start_ns + d.duration_ns > start) missing += "\n  " + views::to_text(d);
    }
  }
  INFO("missing:" << missing);
  INFO("not in the feed " << measurement.feed_lost());
  INFO("found " << found << ", struck by the host " << struck << ", had " << had_ns << " ns, " << gap_ns
                << " ns of an activation for a switch, seen " << seen_ns << " ns");
  // That it was the host is what the host says too, in its steps.
  CHECK(struck_ns <= stolen_ns + 2 * system::StealClock::step_ns());
  CHECK(found <= truth.activations.size());
  CHECK(found + measurement.feed_lost() >= truth.activations.size());
  REQUIRE(had_ns != 0);
  CHECK(others_ns <= had_ns / 100);
  CHECK(struck <= truth.activations.size() / 10);
  if (is_emulated() && gap_ns * truth.activations.size() > had_ns / 100)
    SKIP("emulated: a switch takes " << gap_ns << " ns, more than a hundredth of an activation");
  CHECK(apart(seen_ns, had_ns) <= had_ns / 100);
}
