// SPDX-License-Identifier: Apache-2.0
// What a matcher forgets over gaps, against a list from which it is removed at once.
#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <random>
#include <vector>

#include "account/matcher.h"

using namespace noised;
using namespace noised::account;

namespace {

std::vector<SourceId> names(const std::vector<Interval>& intervals) {
  std::vector<SourceId> names;
  for (const Interval& each : intervals) names.push_back(each.source);
  return names;
}

}  // namespace

TEST_CASE("a gap forgets what was added before it and began by its end, and nothing else", "[attribution]") {
  const std::uint64_t seed = GENERATE(std::uint64_t{5}, std::uint64_t{Catch::getSeed()});
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2'000; ++round) {
    Matcher matcher(0, 1'000);
    std::vector<Interval> waiting;
    SourceId name = 0;
    std::uint64_t now = 1'000;
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t what = random() % 8;
      if (what < 5) {  // of any length, in order of end
        now += random() % 20;
        const Interval interval{now - random() % 200, now, name++, Kind::vector, 0, 0, 0};
        REQUIRE(matcher.add(interval));
        waiting.push_back(interval);
      } else if (what < 7) {  // gaps that follow each other in time, and some that do not
        const std::uint64_t until = now - random() % 300;
        matcher.skip(until);
        std::erase_if(waiting, [&](const Interval& each) { return each.start_ns <= until; });
      } else {
        const Detour detour{now - random() % 100, now, false};
        std::vector<SourceId> expected;
        for (const Interval& each : waiting) {
          if (each.start_ns >= detour.start_ns || each.end_ns > detour.start_ns) expected.push_back(each.source);
        }
        const Matcher::Match match = matcher.take(detour, 0);
        std::erase_if(waiting, [&](const Interval& each) { return each.end_ns <= detour.end_ns; });
        REQUIRE(names({match.intervals.begin(), match.intervals.end()}) == expected);
      }
      REQUIRE(names(matcher.waiting()) == names(waiting));
    }
    const std::uint64_t before = matcher.orphans();
    matcher.finish(now);
    REQUIRE(matcher.orphans() - before == waiting.size());
  }
}

TEST_CASE("half a million gaps do not look at all that waits", "[attribution]") {
  constexpr std::size_t kMany = std::size_t{1} << 18U;
  Matcher matcher(0, kMany);
  for (std::size_t i = 0; i < kMany; ++i) {
    // The last began first: each gap could forget one more of those at the end, and the first one waits.
    const Interval interval{2 * kMany - i, 4 * kMany + i, 0, Kind::vector, 0, 0, 0};
    REQUIRE(matcher.add(interval));
  }
  // A second at most; looking at each would be 3e10 steps.
  for (std::uint64_t until = kMany; until < 2 * kMany; ++until) matcher.skip(until);
  for (std::uint64_t until = kMany; until > 0; --until) matcher.skip(until);
  CHECK(matcher.waiting().size() == 1);
}
