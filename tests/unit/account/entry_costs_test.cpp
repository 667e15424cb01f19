// SPDX-License-Identifier: Apache-2.0
// What entries cost beside their events: learned from a task that saw its own gaps, told with each interruption.
#include <catch2/catch_test_macros.hpp>

#include <noised/abi.h>

#include <vector>

#include "account/entry_costs.h"
#include "account/task_watch.h"

using namespace noised;
using namespace noised::account;

namespace {

Interval vector(std::uint64_t id, std::uint64_t start_ns, std::uint64_t end_ns) {
  return {start_ns, end_ns, 1, Kind::vector, 0, id, 0};
}
Interval timer(std::uint64_t start_ns, std::uint64_t end_ns) {
  return vector(NOISED_VECTOR_LOCAL_TIMER, start_ns, end_ns);
}
Interval softirq(std::uint64_t start_ns, std::uint64_t end_ns) { return {start_ns, end_ns, 2, Kind::softirq, 0, 0, 0}; }

Loss loss(LossKind kind, std::uint64_t start_ns, std::uint64_t end_ns) {
  return {{start_ns, end_ns, false}, 7, 0, 0, kind, 0};
}

std::vector<Detour> told(const std::vector<Interval>& intervals, const RunPart& stretch, const EntryCosts& costs) {
  std::vector<Interval> scratch;
  std::vector<Detour> out;
  divide_interruptions(intervals, stretch, costs, scratch,
                       [&](const Detour& whole, std::span<const Interval>) { out.push_back(whole); });
  return out;
}

// A timer that sometimes wakes somebody, a function call, and a gap of the host's, again and again.
EntryCosts learned() {
  EntryLearner learner;
  std::vector<Detour> gaps;
  for (std::uint64_t at = 0; at < 20; ++at) {
    const std::uint64_t start_ns = at * 1'000'000;
    const std::uint64_t stolen_ns = at == 3 ? 100'000 : 0;  // by the host, on the way in
    const std::uint64_t entered_ns = start_ns + stolen_ns + 7'000;
    const Interval tick = timer(entered_ns, entered_ns + 2'000);
    learner.add(loss(LossKind::interrupted, entered_ns, entered_ns + 2'000), {&tick, 1});
    gaps.push_back({start_ns, entered_ns + 2'300, false});
    if (at % 2 == 0) {
      const Interval task{entered_ns + 2'500, entered_ns + 9'500, 3, Kind::task, 0, 50, 0};
      learner.add(loss(LossKind::preempted, entered_ns + 2'500, entered_ns + 9'500), {&task, 1});
      gaps.back().end_ns = entered_ns + 10'400;
    }
    gaps.push_back({start_ns + 500'000, start_ns + 503'000, false});
    const std::uint64_t called_ns = start_ns + 705'000;
    const Interval call = vector(NOISED_VECTOR_CALL_FUNCTION, called_ns, called_ns + 1'000);
    learner.add(loss(LossKind::interrupted, called_ns, called_ns + 1'000), {&call, 1});
    gaps.push_back({start_ns + 700'000, called_ns + 1'200, false});
  }
  return learner.learn(gaps);
}

constexpr EntryCosts kCosts{{7'000, 300}, 900, 2'000, {}};
constexpr RunPart kAll{0, UINT64_MAX, 1'000'000, false};

}  // namespace

TEST_CASE("watch: what an entry by the timer costs is learned, without what the host added, or other interrupts cost") {
  const EntryCosts costs = learned();
  CHECK(costs.timer.before_ns == 7'000);
  CHECK(costs.timer.after_ns == 0);  // too few returned without a switch
  CHECK(costs.switched_in_ns == 0);
  CHECK(costs.switched_out_ns == 0);
}

TEST_CASE("watch: what an interruption by the timer took beside what is told is estimated, with the most it can be") {
  EntryLearner learner;
  std::vector<Detour> gaps;
  for (std::uint64_t at = 0; at < 20; ++at) {
    const std::uint64_t start_ns = at * 1'000'000;
    const std::uint64_t in_ns = at == 3 ? 100'000 : 7'000 + 100 * at;  // the host's, once
    const Interval tick = timer(start_ns + in_ns, start_ns + in_ns + 2'000);
    learner.add(loss(LossKind::interrupted, tick.start_ns, tick.end_ns), {&tick, 1});
    gaps.push_back({start_ns, tick.end_ns + 300 + 10 * at, false});
  }
  const EntryCosts costs = learner.learn(gaps);
  CHECK(costs.timer.before_ns == 7'000);
  CHECK(costs.timer.after_ns == 300);
  CHECK(costs.timer_ways.samples == 19);
  CHECK(costs.timer_ways.mean_ns == 7'984 + 395);  // (the sum of 100 at without the 3, and of 10 at) / 19 and 20
  CHECK(costs.timer_ways.most_ns == 8'900 + 490);
  // Told is the least: 7,300 of it. The rest is what the mean has more, and the most.
  const std::vector<Interval> one{timer(50'000, 52'000), softirq(52'000, 53'000)};
  const auto rest = costs.untold(one, {43'000, 53'300, false});
  REQUIRE(rest);
  CHECK(rest->mean_ns == costs.timer_ways.mean_ns - 7'300);
  CHECK(rest->most_ns == costs.timer_ways.most_ns - 7'300);
  CHECK(costs.untold(one, {50'000, 53'000, false})->mean_ns == costs.timer_ways.mean_ns);  // nothing was told of it
  CHECK(costs.untold(one, {30'000, 63'000, false})->most_ns == 0);                         // more was
  const std::vector<Interval> call{vector(NOISED_VECTOR_CALL_FUNCTION, 50'000, 52'000)};
  CHECK_FALSE(costs.untold(call, {50'000, 52'000, false}));
  CHECK_FALSE(kCosts.untold(one, {43'000, 53'300, false}));  // of these nothing was learned
}

TEST_CASE("watch: an interruption is told with its ways in and out, and no time twice") {
  const auto apart = told({timer(50'000, 52'000), vector(2, 60'000, 61'000)}, kAll, kCosts);
  REQUIRE(apart.size() == 2);
  CHECK(apart[0].start_ns == 43'000);
  CHECK(apart[0].end_ns == 52'300);
  CHECK(apart[1].start_ns == 60'000);  // nothing is told of others
  CHECK(apart[1].end_ns == 61'000);
  const auto close = told({timer(50'000, 52'000), timer(55'700, 56'000)}, kAll, kCosts);
  REQUIRE(close.size() == 2);
  CHECK(close[1].start_ns == close[0].end_ns);
  const auto joined = told({timer(50'000, 52'000), softirq(54'000, 56'000)}, kAll, kCosts);
  REQUIRE(joined.size() == 1);
  CHECK(joined[0].end_ns == 56'300);
  const auto at_edges = told({timer(51'000, 52'000)}, {50'000, UINT64_MAX, 52'100, false}, kCosts);
  REQUIRE(at_edges.size() == 1);
  CHECK(at_edges[0].start_ns == 50'000);
  CHECK(at_edges[0].end_ns == 52'100);
}

TEST_CASE("watch: the interrupt that took the CPU away lasts until the switch") {
  const std::vector<Interval> one{timer(50'000, 52'000)};
  CHECK(told(one, {0, UINT64_MAX, 53'900, true}, kCosts).at(0).end_ns == 53'900);
  CHECK(told(one, {0, UINT64_MAX, 53'900, false}, kCosts).at(0).end_ns == 52'300);
  CHECK(told(one, {0, UINT64_MAX, 60'000, true}, kCosts).at(0).end_ns == 52'300);  // it ran on in between
}

TEST_CASE("watch: a function that the task calls on its own CPU is no interruption") {
  const Interval own{50'000, 51'000, 4, Kind::csd, 0, 0, 0};
  CHECK(told({own}, kAll, kCosts).empty());
  CHECK(told({own, vector(2, 49'500, 51'500)}, kAll, kCosts).size() == 1);
}
