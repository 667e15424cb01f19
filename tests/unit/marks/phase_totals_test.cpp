// SPDX-License-Identifier: Apache-2.0
// Sums of phases: the late beside the typical ones, and the noise law.
#include <cmath>
#include <cstdint>

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
      CHECK(close(*cost.slowdown, 1 + delayed * kDelay / kOwn));
    }
  }
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
