// SPDX-License-Identifier: Apache-2.0
// Densities and distances, against sums that know no grid, and against shifts whose distance is known.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <numbers>
#include <random>
#include <vector>

#include "analysis/density/density.h"
#include "analysis/density/distributions.h"

using namespace noised;
using namespace noised::account;
using namespace noised::analysis;
using Catch::Approx;

namespace {

double area(const DensityCurves& curves, double DensityPoint::* density) {
  double sum = 0;
  for (const DensityPoint& point : curves.points) sum += point.*density * curves.step;
  return sum;
}

/// Normal over log10(duration): around 10^centre ns.
Histogram bell(std::mt19937_64& random, double centre, double deviation, int count) {
  std::normal_distribution<double> position(centre, deviation);
  Histogram made;
  for (int i = 0; i < count; ++i) made.add(static_cast<std::uint64_t>(std::pow(10.0, position(random))));
  return made;
}

double normal(double x, double centre, double deviation) {
  const double z = (x - centre) / deviation;
  return std::exp(-z * z / 2) / (deviation * std::sqrt(2 * std::numbers::pi));
}

DetourLedger dense(std::uint64_t start_ns, std::uint64_t busy_ns, std::uint64_t overhead_ns, std::uint64_t outside_ns) {
  DetourLedger made;
  made.detour = {start_ns, start_ns + busy_ns + overhead_ns + outside_ns, false};
  made.explained_ns = busy_ns;
  made.overhead_ns = overhead_ns;
  made.hardware_ns = outside_ns;
  return made;
}

}  // namespace

TEST_CASE("both densities have the area 1 over the decades", "[analysis]") {
  std::mt19937_64 random(7);  // NOLINT(cert-msc51-cpp): the same every time
  Histogram one;
  one.add(5'000);
  for (const Histogram& user : {bell(random, 4, 0.3, 5'000), bell(random, 2.2, 0.01, 10), one}) {
    const DensityCurves curves = estimate_densities(user, bell(random, 5.5, 0.1, 800));
    CHECK(area(curves, &DensityPoint::user) == Approx(1).margin(1e-5));
    CHECK(area(curves, &DensityPoint::rebuilt) == Approx(1).margin(1e-5));
  }
  CHECK(area(estimate_densities(one, Histogram()), &DensityPoint::rebuilt) == 0);
  CHECK(estimate_densities(Histogram(), Histogram()).points.empty());
}

TEST_CASE("a density is the sum of one window for each duration", "[analysis]") {
  std::mt19937_64 random(3);  // NOLINT(cert-msc51-cpp)
  Histogram user;
  std::vector<double> positions;
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t ns = 100 + random() % 28;  // each its own bucket: nothing is rounded
    user.add(ns);
    positions.push_back(std::log10(static_cast<double>(ns)));
  }
  const DensityCurves curves = estimate_densities(user, Histogram());
  CHECK(curves.bandwidth == Approx(silverman_bandwidth(user)));
  for (const DensityPoint& point : curves.points) {
    double truth = 0;
    for (const double position : positions)
      truth += normal(std::log10(point.duration_ns), position, curves.bandwidth) / 300;
    CHECK(point.user == Approx(truth).margin(1e-3));
  }
}

TEST_CASE("a mixture of two peaks comes out as such", "[analysis]") {
  std::mt19937_64 random(5);  // NOLINT(cert-msc51-cpp)
  Histogram user = bell(random, 4, 0.2, 70'000);
  user.merge(bell(random, 6, 0.2, 30'000));
  const DensityCurves curves = estimate_densities(user, Histogram());
  double below = 0;
  for (const DensityPoint& point : curves.points) {
    if (point.duration_ns < 1e5) below += point.user * curves.step;
  }
  CHECK(below == Approx(0.7).margin(0.01));
  // The windows add their own deviation to that of a peak.
  const double wide = std::hypot(0.2, curves.bandwidth);
  for (const DensityPoint& point : curves.points) {
    const double x = std::log10(point.duration_ns);
    CHECK(point.user == Approx(0.7 * normal(x, 4, wide) + 0.3 * normal(x, 6, wide)).margin(0.06));
  }
}

TEST_CASE("the density of durations whose law is known is the law's, where windows resolve it",
          "[analysis][projection]") {
  std::mt19937_64 random(17);  // NOLINT(cert-msc51-cpp)
  constexpr double kMean = 20'000;
  constexpr double kLeast = 5'000;
  constexpr double kTail = 1.5;
  const auto share = [&] { return (static_cast<double>(random() >> 11U) + 0.5) / 9007199254740992.0; };  // 2^53
  Histogram exponential;
  Histogram pareto;
  Histogram bimodal;
  for (int i = 0; i < 200'000; ++i) {
    exponential.add(static_cast<std::uint64_t>(std::llround(-kMean * std::log(share()))));
    pareto.add(static_cast<std::uint64_t>(std::llround(kLeast * std::pow(share(), -1 / kTail))));
    bimodal.add(share() < 0.2 ? 300'000 : 10'000);
  }
  // Per decade, a density of x has x * ln(10) times its height; at the edge of Pareto's a window sees both sides.
  const DensityCurves first = estimate_densities(exponential, Histogram());
  for (const DensityPoint& point : first.points) {
    const double x = point.duration_ns / kMean;
    if (x > 0.01) CHECK(point.user == Approx(std::numbers::ln10 * x * std::exp(-x)).margin(0.03));
  }
  const DensityCurves second = estimate_densities(pareto, Histogram());
  for (const DensityPoint& point : second.points) {
    const double decades = std::log10(point.duration_ns / kLeast);
    const double law = std::numbers::ln10 * kTail * std::pow(10.0, -kTail * decades);
    if (decades > 4 * second.bandwidth && decades < 2) CHECK(point.user == Approx(law).epsilon(0.05).margin(0.05));
    if (decades < -4 * second.bandwidth) CHECK(point.user < 0.01);
  }
  const DensityCurves third = estimate_densities(bimodal, Histogram());
  const double width = third.bandwidth;
  for (const DensityPoint& point : third.points) {
    const double x = std::log10(point.duration_ns);
    const double law = 0.8 * normal(x, 4, width) + 0.2 * normal(x, std::log10(300'000), width);
    // The middle of a bucket is at most 1/128 from its durations.
    const double slope = 0.0034 / (width * width);
    CHECK(std::abs(point.user - law) <= 0.01 / width + slope);
  }
}

TEST_CASE("the bandwidth is Silverman's, of a bell that is known", "[analysis]") {
  std::mt19937_64 random(11);  // NOLINT(cert-msc51-cpp)
  CHECK(silverman_bandwidth(bell(random, 5, 0.4, 100'000)) == Approx(0.9 * 0.4 * std::pow(1e5, -0.2)).epsilon(0.03));
  Histogram same;
  same.add(1'000, 1'000'000);
  CHECK(silverman_bandwidth(same) == Approx(std::log10(1 + 1.0 / 64)));
}

TEST_CASE("the same has no distance, what is apart has 1, and nothing has none", "[analysis]") {
  std::mt19937_64 random(13);  // NOLINT(cert-msc51-cpp)
  const Histogram one = bell(random, 4, 0.5, 1'000);
  Histogram twice = one;
  twice.merge(one);
  CHECK(distance(one, one) == 0.0);
  CHECK(distance(one, twice).value() == Approx(0).margin(1e-12));
  CHECK(distance(one, bell(random, 12, 0.1, 10)) == 1.0);
  CHECK_FALSE(distance(one, Histogram()).has_value());
}

TEST_CASE("a known shift has a known distance", "[analysis]") {
  // Ten durations in buckets of their own, shifted by k of them: k tenths of each are not below the other.
  for (std::uint64_t shift = 0; shift <= 12; ++shift) {
    Histogram left;
    Histogram right;
    for (std::uint64_t i = 0; i < 10; ++i) {
      left.add(20 + i, 3);
      right.add(20 + i + shift);
    }
    CHECK(distance(left, right).value() == Approx(static_cast<double>(std::min<std::uint64_t>(shift, 10)) / 10));
    CHECK(distance(right, left) == distance(left, right));
  }
}

TEST_CASE("only overhead and time without kernel activity tell loop and kernel apart", "[analysis]") {
  Distributions distributions(200);
  std::uint64_t now = 1'000'000;
  std::uint64_t overhead = 0;
  constexpr std::uint64_t kCount = 500;
  for (std::uint64_t i = 0; i < kCount; ++i, now += 1'000'000) {
    const std::uint64_t busy = 1'000 + 10 * i;
    Interval interval;
    interval.start_ns = now + 4'000;
    interval.end_ns = interval.start_ns + busy;
    distributions.add(interval);
    distributions.add(dense(now, busy, 12'000, 30));
    overhead += 12'000;
    distributions.add(dense(now + 500'000, 0, 0, 250));  // the host
  }
  const DensityComparison result = distributions.finish(3);
  CHECK(result.cpu == 3);
  CHECK(result.detours == 2 * kCount);
  CHECK(result.detours_with_activity == kCount);
  CHECK(result.stretches == kCount);
  CHECK(result.stretches_in_detours == kCount);
  CHECK(result.overhead_ns == overhead);
  CHECK(result.without_cause_ns == 30 * kCount);
  CHECK(result.with_activity == 1.0);  // 1 to 6 us, seen as 13 to 18 us
  CHECK(result.as_seen.value() == Approx(0.5).margin(1e-12));
  CHECK(result.explained == 0.0);
}

TEST_CASE("the longest pause that divides nothing is the least overhead of a sound detour", "[analysis]") {
  LeastOverhead least;
  CHECK(least.bound_ns(200) == 200);
  least.add(dense(0, 0, 0, 100));
  least.add(dense(0, 10, 9'000, 0));
  least.add(dense(0, 10, 7'000, 0));
  DetourLedger doubtful = dense(0, 10, 50, 0);
  doubtful.detour.in_doubt = true;
  least.add(doubtful);
  CHECK(least.bound_ns(200) == 7'000);
  CHECK(least.bound_ns(8'000) == 8'000);
}

TEST_CASE("a fixed overhead of its kind, learned in other seconds, makes a stretch as long as its detour",
          "[analysis]") {
  // In even seconds an entry costs 5 or 7 us, in odd ones 6: nobody's own is taken.
  constexpr std::uint64_t kSecond = 1'000'000'000;
  constexpr std::uint64_t kStep = 1'000'000;
  FixedOverheads overheads;
  std::vector<DetourLedger> ledgers;
  std::vector<Interval> intervals;
  for (std::uint64_t i = 0; i < 4'000; ++i) {
    const std::uint64_t at = i * kStep;
    const bool odd = at / kSecond % 2 == 1;
    const Kind kind = i % 400 < 2 ? Kind::nmi : Kind::vector;  // five a second: too few to know
    const std::uint64_t overhead = odd ? 6'000 : i % 2 == 0 ? 5'000 : 7'000;
    const std::uint64_t busy = 1'000 + i;
    DetourLedger ledger = dense(at, busy, overhead, 0);
    ledger.entries.push_back({0, kind, 0, 0, at + overhead, busy, 0, 0});
    overheads.add(ledger);
    ledgers.push_back(ledger);
    Interval interval;
    interval.kind = kind;
    interval.start_ns = at + overhead;
    interval.end_ns = interval.start_ns + busy;
    intervals.push_back(interval);
  }
  CHECK(overheads.of(kSecond, Kind::vector) == 6'000);
  CHECK(overheads.of(0, Kind::vector) == 6'000);
  CHECK_FALSE(overheads.of(0, Kind::nmi));
  CHECK_FALSE(overheads.of(0, Kind::irq));
  Distributions distributions(200, overheads);
  for (std::size_t i = 0; i < ledgers.size(); ++i) {
    distributions.add(intervals[i]);
    distributions.add(ledgers[i]);
  }
  const DensityComparison result = distributions.finish(0);
  CHECK(result.predicted_stretches == 4'000 - 20);
  CHECK(result.with_activity.value() > 0.9);
  CHECK(result.predicted.value() < 0.15);
  CHECK(result.predicted.value() > 0);  // half of them cost 1 us more or less than is known of them
  CHECK(Distributions(200).finish(0).predicted == std::nullopt);
}
