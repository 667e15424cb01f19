// SPDX-License-Identifier: Apache-2.0
// Sums of phases: the late beside the typical ones, and the noise law.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>

#include <catch2/catch_test_macros.hpp>

#include "marks/phase_totals.h"

using namespace noised;
using namespace noised::marks;

namespace {

const SourceNames kNames{{1, {"preemption", "task", "noise"}}, {2, {"periodic", "vector", "local_timer"}}};

FinishedPhase phase(std::uint64_t own_ns, SourceTimes stolen = {}, std::uint32_t pid = 1) {
  std::uint64_t ns = own_ns;
  for (const auto& [source, time] : stolen) ns += time;
  return {.pid = pid, .start_ns = 1000, .end_ns = 1000 + ns, .incomplete = false, .stolen = std::move(stolen)};
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

}  // namespace

TEST_CASE("the late phases tell who made them late", "[marks]") {
  PhaseTotals totals;
  for (int i = 0; i < 990; ++i) totals.add(phase(100'000, {{2, 500}}));
  for (int i = 0; i < 10; ++i) totals.add(phase(100'000, {{1, 200'000}, {2, 700}}, 2));
  const MarkedPhase view = totals.view(kNames);
  CHECK(view.threads == 2);
  CHECK(view.all.count == 1000);
  CHECK(view.late.count == 10);
  CHECK(view.late.stolen_ns == 10 * 200'700);
  CHECK(view.typical.count == 990);
  CHECK(view.min_ns == 100'500);
  CHECK(view.max_ns == 300'700);
  CHECK(view.delayed == 1000);
  REQUIRE(view.delays.size() == 3);
  for (const MarkedDelay& delay : view.delays) CHECK(delay.phases == 10);  // 500 of 100,000 are less than 1%
  CHECK(view.delays[2].of_own == 0.5);
  CHECK(view.delays[2].p == 0.01);
  CHECK((view.delays[2].low > 0.004 && view.delays[2].high < 0.02));
  REQUIRE(view.sources.size() == 2);
  CHECK(view.sources[0].name == "noise");
  CHECK(view.sources[0].late_ns == 2'000'000);
  CHECK(view.sources[0].typical_ns == 0);
  CHECK(view.sources[0].phases == 10);
  CHECK(view.sources[1].total_ns == 990 * 500 + 10 * 700);
  CHECK(view.sources[1].typical_ns == 990 * 500);
  REQUIRE(view.longest.size() == PhaseTotals::kLongest);
  CHECK(view.longest[0].duration_ns == 300'700);
  CHECK(view.longest[0].stolen_ns == 200'700);
  CHECK(view.longest[0].sources[0].first == "task:noise");
  CHECK(view.longest[0].pid == 2);
}

TEST_CASE("p and the slowdown are those of the noise law", "[marks]") {
  PhaseTotals totals;
  constexpr double kOwn = 1'000'000;
  constexpr double kDelay = 500'000;
  for (int i = 0; i < 10'000; ++i) {
    if (i % 100 == 0) {
      totals.add(phase(1'000'000, {{1, 500'000}}));
    } else {
      totals.add(phase(1'000'000));
    }
  }
  const MarkedPhase view = totals.view(kNames);
  CHECK(view.delayed == 100);
  for (const PhaseCost& cost : view.costs) {
    INFO(cost.ranks);
    const double delayed = 1 - std::pow(0.99, static_cast<double>(cost.ranks));
    CHECK(close(cost.delayed, delayed));
    if (cost.ranks > 200) {
      CHECK_FALSE(cost.slowdown.has_value());  // of 10,000 phases, too few are the longest of so many
    } else {
      REQUIRE(cost.slowdown.has_value());
      const double truth = 1 + delayed * kDelay / kOwn;
      CHECK(close(*cost.slowdown, truth));
      CHECK(*cost.low <= truth);
      CHECK(*cost.high >= truth);
      CHECK(*cost.high - *cost.low < 0.05);  // they come in step
    }
  }
}

TEST_CASE("95% intervals of a slowdown hold it in 95% of 200 runs of marked phases", "[marks]") {
  constexpr int kRuns = 200;
  constexpr int kLeast = 183;  // of 200, fewer have a probability of 1%
  constexpr double kP = 0.1;
  std::mt19937_64 random(67);  // NOLINT(cert-msc51-cpp): the same every time
  std::array<int, 3> held{};
  int p_held = 0;
  for (int run = 0; run < kRuns; ++run) {
    PhaseTotals totals;
    for (int i = 0; i < 3'000; ++i) {
      const bool delayed = std::bernoulli_distribution(kP)(random);
      totals.add(phase(1'000'000, delayed ? SourceTimes{{1, 50'000}} : SourceTimes{}));
    }
    const MarkedPhase view = totals.view(kNames);
    p_held += view.delays[0].low <= kP && kP <= view.delays[0].high ? 1 : 0;
    for (std::size_t i = 0; i < held.size(); ++i) {
      const double truth = 1 + (1 - std::pow(1 - kP, static_cast<double>(view.costs[i].ranks))) * 0.05;
      held[i] += *view.costs[i].low <= truth && truth <= *view.costs[i].high ? 1 : 0;
    }
  }
  INFO("p " << p_held << ", slowdown of 1, 2 and 4 ranks " << held[0] << " " << held[1] << " " << held[2]);
  CHECK(p_held >= kLeast);
  for (const int each : held) CHECK(each >= kLeast);
}

TEST_CASE("blocks of stolen time are of nearly equal length, and none is lost", "[marks]") {
  StolenBlocks blocks;
  std::uint64_t sum_ns = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    blocks.add(i);
    sum_ns += i;
    if (i < 48 || i % 97 != 0) continue;
    std::uint64_t count = 0;
    std::uint64_t shortest = UINT64_MAX;
    std::uint64_t longest = 0;
    std::uint64_t last = 0;
    for (const StolenBlocks::Groups& block : blocks.blocks()) {
      shortest = std::min(shortest, last == 0 ? shortest : last);
      last = 0;
      for (const auto& [low_ns, group] : block) last += group.count;
      longest = std::max(longest, last);
      count += last;
    }
    CHECK(count == i + 1);
    CHECK(longest <= 2 * shortest);
    CHECK(last > 0);
  }
  std::uint64_t total_ns = 0;
  for (const StolenBlocks::Groups& block : blocks.blocks()) {
    for (const auto& [low_ns, group] : block) total_ns += group.ns;
  }
  CHECK(total_ns == sum_ns);
}

TEST_CASE("one phase is late and typical", "[marks]") {
  PhaseTotals totals;
  CHECK(totals.empty());
  CHECK(totals.view(kNames).all.count == 0);
  totals.add(phase(77));
  const MarkedPhase view = totals.view(kNames);
  CHECK(view.late.count == 1);
  CHECK(view.typical.count == 1);
  CHECK(view.median_ns == 77);
  CHECK(view.sources.empty());
}
