// SPDX-License-Identifier: Apache-2.0
// The projection of noise that comes in step, and of nodes with several CPUs, against closed forms.
#include <array>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "unit/analysis/barrier_model.h"
#include "unit/analysis/projection_observe.h"

using namespace noised;
using namespace noised::analysis;
using namespace noised::test;
using Catch::Approx;

namespace {

/// P(X > x) of phases that begin at any time (ticks are too short for a barrier to matter) where a tick of this length
/// comes every period, longer than a phase.
struct Tick {
  double period_ns;
  double length_ns;

  [[nodiscard]] double delayed_by(double x) const { return x < length_ns ? (kGrainNs + length_ns - x) / period_ns : 0; }
  /// One that begins in no tick meets all of one, or nothing.
  [[nodiscard]] double delayed() const { return kGrainNs / (period_ns - length_ns); }
  [[nodiscard]] double largest(double nodes) const {
    constexpr double kStepNs = 1;
    double sum = 0;
    for (double x = kStepNs / 2; x < length_ns; x += kStepNs) sum += 1 - std::pow(1 - delayed_by(x), nodes);
    return sum * kStepNs;
  }
};

// Alone, in a node by itself, a CPU hardly ever begins inside a detour: only one that came while it waited.
double both_delayed(const NoiseModel& first, const NoiseModel& second) {
  return 1 - (1 - first.delayed()) * (1 - second.delayed());
}

}  // namespace

// What comes in step has no chance in it: that of the interval is nothing but the ends of the blocks.
TEST_CASE("a tick in step is exact, and its interval is narrow", "[projection]") {
  constexpr Tick kTick{4e6, 7'000};
  ObservedNode node(24'000);
  for (std::uint64_t at = 123'456; node.detour(0, at, 7'000); at += 4'000'000) continue;
  const std::vector<double> delays{0, 0.002, 0.0065, 0.5};
  const Projection seen = node.project({1, 10, 100}, delays);
  REQUIRE(seen.delayed.size() == delays.size());
  for (std::size_t i = 0; i < 3; ++i) {
    INFO(delays[i]);
    CHECK(seen.delayed[i].of_grain == delays[i]);
    REQUIRE(seen.delayed[i].p.value);
    CHECK(*seen.delayed[i].p.value == Approx(kTick.delayed()).epsilon(0.001));
  }
  CHECK_FALSE(seen.delayed[3].p.value);
  CHECK(*seen.delayed[3].at_most < 0.001);
  CHECK_FALSE(seen.together);
  for (const JobSize& size : seen.sizes) {
    const double truth = kTick.largest(static_cast<double>(size.nodes)) / kGrainNs;
    INFO(size.nodes);
    REQUIRE(size.excess.value);
    CHECK(*size.excess.value == Approx(truth).epsilon(0.003));
    CHECK(*size.excess.high / *size.excess.low < 1.02);
    CHECK(*size.excess.low <= truth * 1.003);
    CHECK(*size.excess.high >= truth * 0.997);
  }
}

TEST_CASE("95% intervals of a node with two CPUs hold the truth in 95% of 200 runs", "[projection]") {
  constexpr int kRuns = 200;
  constexpr int kLeast = 183;  // as for one CPU
  const NoiseModel first = exponential_noise(10'000);
  const NoiseModel second = bimodal_noise(5'000, 50'000, 0.1, 0.1);
  const std::vector<std::uint64_t> nodes{1, 10, 100};
  std::array<double, 3> truth{};
  std::mt19937_64 random(17);  // NOLINT(cert-msc51-cpp): the same every time
  for (std::size_t i = 0; i < nodes.size(); ++i)
    truth[i] = job_excess({first, second}, nodes[i], 1'000'000 / nodes[i], random);
  std::array<int, 4> held{};
  for (int run = 0; run < kRuns; ++run) {
    ObservedNode node(5'700, 2);
    node.fill(0, first, random);
    node.fill(1, second, random);
    const Projection seen = node.project(nodes);
    held[0] += holds(seen.delayed[0].p, both_delayed(first, second)) ? 1 : 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) held[i + 1] += holds(seen.sizes[i].excess, truth[i]) ? 1 : 0;
  }
  INFO("p " << held[0] << ", slowdown " << held[1] << " " << held[2] << " " << held[3]);
  for (const int each : held) CHECK(each >= kLeast);
}

TEST_CASE("ticks that come to all CPUs at once cost less than if they came by chance, in turns more", "[projection]") {
  constexpr Tick kTick{4e6, 7'000};
  constexpr std::uint64_t kGrains = 24'000;
  struct Case {
    std::size_t cpus;
    std::uint64_t apart_ns;
    double of_one;  // phases that are delayed, by those of one CPU
  };
  // In turns of four or 64 that fill the period, a phase of 1 ms meets one of four, or at each time some of 64.
  for (const Case& each : {Case{2, 0, 1}, Case{2, 2'000'000, 2}, Case{4, 0, 1}, Case{64, 0, 1}, Case{64, 62'500, 4}}) {
    INFO(each.cpus << " CPUs, " << each.apart_ns << " ns apart");
    ObservedNode node(kGrains, each.cpus);
    for (std::size_t cpu = 0; cpu < each.cpus; ++cpu) {
      for (std::uint64_t at = 123'456 + cpu * each.apart_ns; node.detour(cpu, at, 7'000); at += 4'000'000) continue;
    }
    const Projection seen = node.project({1, 100});
    CHECK(seen.joint);
    const double once = kTick.largest(1);
    const double joint = std::min(each.of_one * once, 7'000.0);
    const double truth = joint / kTick.largest(static_cast<double>(each.cpus));
    REQUIRE(seen.together);
    REQUIRE(seen.together->value);
    CHECK(*seen.together->value == Approx(truth).epsilon(0.01));
    CHECK(*seen.together->low <= truth * 1.01);
    CHECK(*seen.together->high >= truth * 0.99);
    if (each.cpus == 2) CHECK((each.apart_ns == 0 ? *seen.together->high < 1 : *seen.together->low > 1));
    CHECK(*seen.sizes[0].excess.value * kGrainNs == Approx(joint).epsilon(0.003));
    CHECK(*seen.sizes[1].excess.value * kGrainNs == Approx(7'000).epsilon(0.003));
  }
}

TEST_CASE("CPUs that were not observed at the same times are taken as independent", "[projection]") {
  constexpr std::uint64_t kHalf = 10'000 * kGrain;
  const std::vector<std::uint64_t> lengths(2, kHalf);
  NodePhases phases(kGrain, lengths, kHalf, {});
  for (std::size_t cpu = 0; cpu < 2; ++cpu) {
    const std::uint64_t first = cpu * kHalf;
    phases.begin(cpu, first);
    DetourLedger ledger;
    for (std::uint64_t at = first + 123'456; at + 7'000 < first + kHalf; at += 4'000'000) {
      ledger.detour.start_ns = at;
      ledger.detour.end_ns = at + 7'000;
      phases.add(cpu, ledger);
    }
    phases.end(cpu, first + kHalf);
  }
  const Projection seen = project({kGrain, {1, 10}, {{0, kHalf}, {1, kHalf}}, {}, &phases});
  CHECK_FALSE(seen.joint);
  CHECK_FALSE(seen.together);
  CHECK(*seen.sizes[1].excess.value * kGrainNs == Approx(Tick{4e6, 7'000}.largest(20)).epsilon(0.003));
}
