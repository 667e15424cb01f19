// SPDX-License-Identifier: Apache-2.0
// The same kernel activity recorded by ftrace and counted again: every source as often, and as long.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ftrace.h"
#include "loads.h"
#include "measurement.h"
#include "recount.h"

using namespace noised;
using namespace noised::live;

namespace {

constexpr std::uint64_t kRecountMs = 3000;
constexpr std::uint64_t kQuietNs = 100'000;
constexpr std::uint64_t kSettledNs = 50'000'000;

// Everything of one measurement: what noised saw, what ftrace did, and when the loop ran at least.
struct Both {
  Report report;
  std::vector<DetourView> detours;
  std::uint64_t feed_lost = 0;
  std::uint64_t orphans = 0;
  std::vector<TraceEvent> events;
  int loop = 0;
  bool callback_ends = false;
  Moment begun, ending;

  [[nodiscard]] std::uint64_t to_ns(std::uint64_t ticks) const {
    const auto rate = static_cast<double>(ending.ns - begun.ns) / static_cast<double>(ending.ticks - begun.ticks);
    const auto since = static_cast<double>(static_cast<std::int64_t>(ticks - begun.ticks));
    return begun.ns + static_cast<std::uint64_t>(static_cast<std::int64_t>(since * rate));
  }
  [[nodiscard]] std::uint64_t settled_ticks() const {
    return begun.ticks + (ending.ticks - begun.ticks) * kSettledNs / (ending.ns - begun.ns);
  }
  [[nodiscard]] std::uint64_t length_ns(std::uint64_t ticks) const { return to_ns(begun.ticks + ticks) - begun.ns; }
};

// ftrace is switched on first: at a tracepoint it then comes before noised's programs.
Both measure_twice(unsigned cpu, bool callback_ends, const std::function<void()>& load) {
  Both both;
  Ftrace ftrace(cpu, recounted_events());
  MeasurementOptions options;
  options.callback_ends = callback_ends;
  Measurement measurement(cpu, options);
  both.callback_ends = measurement.tracer().callback_ends();
  measurement.begin();
  both.begun = read_moment();
  both.loop = measurement.probe_tid();
  measurement.run(kRecountMs, load);
  both.ending = read_moment();
  measurement.end();
  both.events = ftrace.stop();
  std::erase_if(both.events, [&](const TraceEvent& event) { return event.ticks > both.ending.ticks; });
  both.report = measurement.report();
  both.detours = measurement.detours();
  both.feed_lost = measurement.feed_lost();
  both.orphans = measurement.orphans();
  return both;
}

struct TraceWindow {
  std::uint64_t from_ns = 0;
  std::uint64_t until_ns = 0;
};

bool is_interval(const DetourEntryView& entry) {
  return entry.kind != "hypervisor" && entry.kind != "hardware" && entry.kind != "unexplained" && entry.kind != "nmi";
}

bool has_intervals(const DetourView& detour) {
  return std::any_of(detour.entries.begin(), detour.entries.end(), is_interval);
}

// The first moment from `ns` on amid 100 us in which neither saw kernel activity: no interval, and none of its detours,
// can be on both sides of it.
std::uint64_t quiet_moment(const Both& both, const std::vector<Recounted>& intervals, std::uint64_t ns) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> busy;
  for (const DetourView& detour : both.detours) {
    if (has_intervals(detour)) busy.emplace_back(detour.start_ns, detour.start_ns + detour.duration_ns);
  }
  for (const Recounted& one : intervals) busy.emplace_back(both.to_ns(one.start_ticks), both.to_ns(one.end_ticks));
  std::sort(busy.begin(), busy.end());
  for (const auto& [start, end] : busy) {
    if (start >= ns + kQuietNs) return ns + kQuietNs / 2;
    ns = std::max(ns, end);
  }
  INFO("no quiet moment");
  REQUIRE(ns + kQuietNs < both.ending.ns);  // nothing more came
  return ns + kQuietNs / 2;
}

TraceWindow compared(const Both& both, const std::vector<Recounted>& intervals) {
  return {quiet_moment(both, intervals, both.begun.ns + kSettledNs),
          quiet_moment(both, intervals, both.ending.ns - kSettledNs)};
}

using Counts = std::map<std::string, std::uint64_t>;

std::uint64_t intervals_in(const DetourEntryView& entry) {
  for (const auto& [key, value] : entry.detail) {
    if (key == "intervals") return std::stoull(value);
  }
  return 1;
}

// An irq whose action is not the only one of that name carries its number: ftrace tells the name alone.
std::string source_of(const DetourEntryView& entry) {
  std::string name = entry.name;
  const std::size_t colon = name.rfind(':');
  if (entry.kind == "irq" && colon != std::string::npos) name.resize(colon);
  return entry.kind + ":" + name;
}

bool in_vague_detour(const Both& both, std::uint64_t ns) {
  return std::any_of(both.detours.begin(), both.detours.end(), [&](const DetourView& detour) {
    return detour.start_ns <= ns && ns < detour.start_ns + detour.duration_ns && is_vague(detour);
  });
}

Counts counts_by_noised(const Both& both, const TraceWindow& window) {
  Counts counts;
  for (const DetourView& detour : both.detours) {
    if (detour.start_ns < window.from_ns || detour.start_ns >= window.until_ns) continue;
    CHECK_FALSE(detour.incomplete);
    if (is_vague(detour)) continue;
    for (const DetourEntryView& entry : detour.entries) {
      if (is_interval(entry)) counts[source_of(entry)] += intervals_in(entry);
    }
  }
  return counts;
}

Counts counts_by_ftrace(const Both& both, const std::vector<Recounted>& intervals, const TraceWindow& window) {
  Counts counts;
  for (const Recounted& one : intervals) {
    const std::uint64_t start_ns = both.to_ns(one.start_ticks);
    if (start_ns < window.from_ns || start_ns >= window.until_ns || in_vague_detour(both, start_ns)) continue;
    ++counts[one.source];
  }
  return counts;
}

// One interval as both saw it: its self time, and the intervals directly inside it.
struct Twin {
  std::uint64_t ftrace_ns = 0;
  std::uint64_t noised_ns = 0;
  unsigned nested = 0;

  [[nodiscard]] std::uint64_t difference_ns() const {
    return std::max(ftrace_ns, noised_ns) - std::min(ftrace_ns, noised_ns);
  }
};

// By source, every interval that is the only one of its source in its detour: for such noised tells its own time.
// Intervals are compared one by one. Quantiles of all of them would not do: one tick of ten takes 10 us instead of 3,
// and what lies between, where quantile 90% is, depends on a handful.
std::map<std::string, std::vector<Twin>> pairs(const Both& both, const std::vector<Recounted>& intervals,
                                               const TraceWindow& window) {
  std::multimap<std::uint64_t, const Recounted*> by_start;
  for (const Recounted& one : intervals) by_start.emplace(both.to_ns(one.start_ticks), &one);
  std::map<std::string, std::vector<Twin>> pairs;
  for (const DetourView& detour : both.detours) {
    if (detour.start_ns < window.from_ns || detour.start_ns >= window.until_ns || is_vague(detour)) continue;
    std::map<std::string, std::vector<const Recounted*>> inside;
    const auto end = by_start.lower_bound(detour.start_ns + detour.duration_ns);
    for (auto one = by_start.lower_bound(detour.start_ns); one != end; ++one)
      inside[one->second->source].push_back(one->second);
    Counts told;
    for (const DetourEntryView& entry : detour.entries) told[source_of(entry)] += intervals_in(entry);
    for (const DetourEntryView& entry : detour.entries) {
      if (!is_interval(entry) || told[source_of(entry)] != 1) continue;
      const auto same = inside.find(source_of(entry));
      if (same == inside.end() || same->second.size() != 1) continue;
      const Recounted& one = *same->second.front();
      pairs[one.source].push_back(
          {both.length_ns(one.end_ticks - one.start_ticks - one.nested_ticks), entry.self_ns, one.nested});
    }
  }
  return pairs;
}

// What both tracers cost at one end of an interval.
std::optional<std::uint64_t> cost_ns(const Both& both) {
  const std::optional<std::uint64_t> ticks = end_cost_ticks(both.events, both.begun.ticks);
  if (!ticks) return std::nullopt;
  return both.length_ns(*ticks);
}

void check_counts(const Counts& noised, const Counts& ftrace) {
  for (const auto& [source, count] : ftrace) {
    const auto seen_too = noised.find(source);
    INFO(source);
    CHECK(count == (seen_too == noised.end() ? 0 : seen_too->second));
  }
  for (const auto& [source, count] : noised) {
    INFO(source << " is noised's alone, " << count << " times");
    CHECK(ftrace.contains(source));
  }
}

// An interval's self times differ by what the tracers cost at its two ends and at those of what is nested in it, and by
// the clocks' uncertainty where a detour's edge cuts it short. More than that, none or one of thousands did; a host
// that strikes 10,000 times a second strikes between the tracers at one of 200.
void check_durations(const Both& both, const std::vector<Recounted>& intervals, const TraceWindow& window) {
  const std::optional<std::uint64_t> cost = cost_ns(both);
  if (is_emulated() && !cost) return;  // too little happens on an isolated CPU
  REQUIRE(cost.has_value());
  bool ticks_compared = false;
  for (const auto& [source, twice] : pairs(both, intervals, window)) {
    if (twice.size() < 50) continue;
    std::string beyond;
    std::size_t count = 0;
    for (const Twin& pair : twice) {
      if (pair.difference_ns() <= 2U * (1U + pair.nested) * *cost + both.report.clock.uncertainty_ns) continue;
      ++count;
      beyond += " " + std::to_string(pair.ftrace_ns) + "/" + std::to_string(pair.noised_ns);
    }
    INFO(source << ", of " << twice.size() << " intervals differ by more than the tracers cost (" << *cost
                << " an end), ftrace/noised:" << beyond);
    CHECK(count <= 1 + twice.size() / 20);
    ticks_compared = ticks_compared || source == "vector:local_timer";
  }
  if (has_tick(probed_cpu()) && !is_emulated()) CHECK(ticks_compared);
}

void recount_all(bool callback_ends, const std::function<void()>& load) {
  INFO("callbacks " << (callback_ends ? "tell their ends" : "end with what they are in"));
  Both both = measure_twice(probed_cpu(), callback_ends, load);
  // A run of a program that the kernel refused is a loss, which noised counts: then there is less to compare.
  for (int again = 0; again < 2 && both.report.lost.missed_runs != 0; ++again)
    both = measure_twice(probed_cpu(), callback_ends, load);
  CHECK(both.report.lost.missed_runs == 0);
  CHECK(both.report.lost.events == 0);
  CHECK(both.report.lost.unpaired == 0);
  CHECK(both.orphans == 0);
  REQUIRE(both.feed_lost == 0);  // or not every detour could be compared
  const Recount recounted = recount(both.events, both.loop, both.begun.ticks, both.settled_ticks(), both.callback_ends);
  for (const std::string& line : recounted.contradictions) FAIL_CHECK("ftrace contradicts itself: " << line);
  const TraceWindow window = compared(both, recounted.intervals);
  CHECK(std::count_if(both.detours.begin(), both.detours.end(), is_vague) <= 5);
  const Counts ftrace = counts_by_ftrace(both, recounted.intervals, window);
  if (has_tick(probed_cpu())) REQUIRE(ftrace.contains("vector:local_timer"));
  check_counts(counts_by_noised(both, window), ftrace);
  check_durations(both, recounted.intervals, window);
}

}  // namespace

TEST_CASE("recount: idle", "[core]") {
  const bool callback_ends = GENERATE(false, true);
  recount_all(callback_ends, {});
}

TEST_CASE("recount: timers on the probed CPU") {
  const unsigned cpu = probed_cpu();
  const bool callback_ends = GENERATE(false, true);
  recount_all(callback_ends, [cpu] { sleep_on(cpu, kRecountMs - 200); });
}

TEST_CASE("recount: wakeups from another CPU") {
  const unsigned cpu = probed_cpu();
  const bool callback_ends = GENERATE(false, true);
  recount_all(callback_ends, [cpu] { wake_on(cpu, kRecountMs - 200); });
}

TEST_CASE("recount: loopback traffic on the probed CPU") {
  const unsigned cpu = probed_cpu();
  const bool callback_ends = GENERATE(false, true);
  recount_all(callback_ends, [cpu] { talk_over_loopback(cpu, kRecountMs - 200); });
}
