// SPDX-License-Identifier: Apache-2.0
// The distribution of phases against sorting all of them.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "analysis/fixed_work/phase_durations.h"

using namespace noised;
using namespace noised::analysis;
using Catch::Approx;

namespace {

std::vector<std::uint64_t> random_durations(std::mt19937_64& random, std::size_t count) {
  std::vector<std::uint64_t> all;
  std::lognormal_distribution<double> tail(std::log(100'000.0), 0.05 + static_cast<double>(random() % 100) / 100);
  for (std::size_t i = 0; i < count; ++i) all.push_back(static_cast<std::uint64_t>(tail(random)));
  return all;
}

bool within(std::uint64_t value, std::uint64_t exact) {
  return value >= exact &&
         static_cast<double>(value - exact) <= PhaseDurations::kRelativeError * static_cast<double>(exact);
}

}  // namespace

TEST_CASE("statistics, survival and p are those of the sorted phases", "[analysis]") {
  std::mt19937_64 random(11);  // NOLINT(cert-msc51-cpp): the same every time
  for (int round = 0; round < 20; ++round) {
    std::vector<std::uint64_t> all = random_durations(random, 100 + random() % 20'000);
    PhaseDurations durations;
    for (const std::uint64_t each : all) durations.add(each);
    std::sort(all.begin(), all.end());
    CHECK(within(durations.median_ns(), all[(all.size() + 1) / 2 - 1]));
    double decile = 0;
    for (std::size_t i = all.size() / 10; i < all.size() / 5; ++i) decile += static_cast<double>(all[i]);
    decile /= static_cast<double>(all.size() / 5 - all.size() / 10);
    CHECK(*durations.calibrated_ns() == Approx(decile).epsilon(PhaseDurations::kRelativeError));
    for (const Survival& point : durations.survival()) {
      const auto beyond = static_cast<std::size_t>(std::llround(std::floor(static_cast<double>(all.size()) * point.p)));
      REQUIRE(point.longer_than_ns.has_value() == (all.size() >= point.phases_needed));
      if (!point.longer_than_ns) continue;
      CHECK(within(*point.longer_than_ns, all[all.size() - beyond - 1]));
      CHECK(point.low_ns <= *point.longer_than_ns);
      CHECK(point.high_ns >= *point.longer_than_ns);
    }
    for (const Exceeding& each : durations.exceeding()) {
      const auto above = std::count_if(all.begin(), all.end(), [&](std::uint64_t ns) { return ns > each.above_ns; });
      CHECK(each.phases == static_cast<std::uint64_t>(above));
      CHECK(static_cast<double>(each.above_ns) == Approx(decile * (1 + each.share)).epsilon(0.001));
      CHECK(each.p.low <= each.p.value);
      CHECK(each.p.high >= each.p.value);
    }
  }
}

TEST_CASE("the interval of a survival point holds the truth 19 times of 20", "[analysis]") {
  std::mt19937_64 random(5);  // NOLINT(cert-msc51-cpp): the same every time
  std::exponential_distribution<double> tail(1 / 1'000.0);
  int inside = 0;
  for (int round = 0; round < 400; ++round) {
    PhaseDurations durations;
    for (int i = 0; i < 3'000; ++i) durations.add(10'000 + static_cast<std::uint64_t>(tail(random)));
    const Survival point = durations.survival()[1];
    const double truth_ns = 10'000 + 1'000 * std::log(100.0);
    inside += static_cast<double>(point.low_ns) <= truth_ns && truth_ns <= static_cast<double>(point.high_ns) ? 1 : 0;
  }
  CHECK(inside >= 366);  // of 380; 3.2 standard deviations
}

TEST_CASE("what never happened may still happen, and what was never measured is not zero", "[analysis]") {
  PhaseDurations durations;
  CHECK_FALSE(durations.calibrated_ns());
  CHECK(durations.exceeding().empty());
  CHECK_FALSE(durations.survival()[0].longer_than_ns);
  for (int i = 0; i < 100; ++i) durations.add(1'000);
  CHECK(*durations.calibrated_ns() == Approx(1'000));
  CHECK(durations.median_ns() == 1'000);
  const Exceeding none = durations.exceeding()[0];
  CHECK(none.above_ns == 1'010);
  CHECK(none.phases == 0);
  CHECK(none.p.low == 0);
  CHECK(none.p.high == Approx(0.037).epsilon(0.01));
  CHECK(durations.survival()[0].longer_than_ns == 1'000);
  CHECK_FALSE(durations.survival()[1].longer_than_ns);
  durations.add(UINT64_MAX);
  durations.add(0);
  CHECK(durations.moments().max_ns() == UINT64_MAX);
}
