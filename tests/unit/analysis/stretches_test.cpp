// SPDX-License-Identifier: Apache-2.0
// Stretches of kernel activity, against a search nanosecond by nanosecond.
#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <vector>

#include "analysis/density/distributions.h"

using namespace noised;
using namespace noised::analysis;

namespace {

Interval interval(std::uint64_t start_ns, std::uint64_t end_ns) {
  Interval made;
  made.start_ns = start_ns;
  made.end_ns = end_ns;
  return made;
}

struct Run {
  std::vector<Stretch> taken;
  Stretches stretches;
  explicit Run(std::uint64_t joined_within_ns)
      : stretches(joined_within_ns, [this](const Stretch& stretch) { taken.push_back(stretch); }) {}
};

using Spans = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

/// Nested and successive intervals before `limit`, in order of their end.
std::vector<Interval> random_intervals(std::mt19937_64& random, std::uint64_t limit) {
  std::vector<Interval> made;
  for (std::size_t n = random() % 40; n > 0; --n) {
    const std::uint64_t start = random() % (limit - 40);
    made.push_back(interval(start, start + 1 + random() % (random() % 5 == 0 ? 39 : 4)));
  }
  std::stable_sort(made.begin(), made.end(), [](const Interval& a, const Interval& b) { return a.end_ns < b.end_ns; });
  return made;
}

/// Start, end and busy time of each stretch: every nanosecond is looked at by itself.
std::vector<Stretch> expected(const std::vector<Interval>& intervals, std::uint64_t limit, std::uint64_t joined) {
  std::vector<bool> busy(limit, false);
  for (const Interval& each : intervals) {
    for (std::uint64_t ns = each.start_ns; ns < each.end_ns; ++ns) busy[ns] = true;
  }
  std::vector<Stretch> found;
  for (std::uint64_t ns = 0; ns < limit; ++ns) {
    if (!busy[ns]) continue;
    if (found.empty() || ns - found.back().end_ns > joined) found.push_back({ns, ns, 0, false});
    found.back().end_ns = ns + 1;
    ++found.back().busy_ns;
  }
  return found;
}

}  // namespace

TEST_CASE("stretches are the union of intervals, joined over short pauses", "[analysis]") {
  std::mt19937_64 random(Catch::getSeed());
  constexpr std::uint64_t kLimit = 400;
  for (int round = 0; round < 3'000; ++round) {
    const std::uint64_t joined = random() % 12;
    const std::vector<Interval> intervals = random_intervals(random, kLimit);
    Run run(joined);
    for (const Interval& each : intervals) run.stretches.add(each);
    run.stretches.finish();
    const std::vector<Stretch> truth = expected(intervals, kLimit, joined);
    REQUIRE(run.taken.size() == truth.size());
    for (std::size_t i = 0; i < truth.size(); ++i) {
      REQUIRE(run.taken[i].start_ns == truth[i].start_ns);
      REQUIRE(run.taken[i].end_ns == truth[i].end_ns);
      REQUIRE(run.taken[i].busy_ns == truth[i].busy_ns);
      REQUIRE_FALSE(run.taken[i].in_detour);
    }
  }
}

TEST_CASE("an interval around others makes them one, however late it ends", "[analysis]") {
  Run run(2);
  for (const Interval& each : {interval(100, 110), interval(150, 160), interval(50, 200), interval(202, 210)})
    run.stretches.add(each);
  run.stretches.finish();
  REQUIRE(run.taken.size() == 1);
  CHECK(run.taken[0].start_ns == 50);
  CHECK(run.taken[0].end_ns == 210);
  CHECK(run.taken[0].busy_ns == 158);
}

TEST_CASE("a pause as long as the bound joins, a longer one divides", "[analysis]") {
  for (const std::uint64_t pause : {7U, 8U}) {
    Run run(7);
    run.stretches.add(interval(10, 20));
    run.stretches.add(interval(20 + pause, 40));
    run.stretches.finish();
    CHECK(run.taken.size() == (pause == 7 ? 1 : 2));
  }
}

TEST_CASE("a stretch knows whether the loop saw it, and nothing else of the loop", "[analysis]") {
  Run run(0);
  run.stretches.add(interval(10, 20));
  run.stretches.detour(5, 25);
  run.stretches.add(interval(40, 41));
  run.stretches.add(interval(60, 70));
  run.stretches.add(interval(75, 80));
  run.stretches.detour(55, 90);
  run.stretches.finish();
  REQUIRE(run.taken.size() == 4);
  CHECK(run.taken[0].in_detour);
  CHECK_FALSE(run.taken[1].in_detour);
  CHECK(run.taken[2].in_detour);
  CHECK(run.taken[3].in_detour);
}

TEST_CASE("what has no duration is no stretch, and what was not observed is left out", "[analysis]") {
  Run run(0);
  run.stretches.begin(10);
  run.stretches.add(interval(5, 12));
  run.stretches.add(interval(15, 15));
  run.stretches.add(interval(20, 30));
  run.stretches.add(interval(45, 48));
  run.stretches.skip(40, 60);
  run.stretches.add(interval(55, 70));
  run.stretches.add(interval(80, 90));
  run.stretches.finish();
  CHECK(run.stretches.instants() == 1);
  REQUIRE(run.taken.size() == 2);
  CHECK(run.taken[0].start_ns == 20);
  CHECK(run.taken[1].start_ns == 80);
}

TEST_CASE("no more is held than there is room for, and that is said", "[analysis]") {
  Run run(0);
  for (std::uint64_t i = 0; i < Stretches::kMostHeld + 10; ++i) run.stretches.add(interval(10 * i, 10 * i + 5));
  CHECK(run.stretches.cut() == 10);
  run.stretches.finish();
  CHECK(run.taken.size() == Stretches::kMostHeld + 10);
}
