// SPDX-License-Identifier: Apache-2.0
// The projection of noise that comes in step, and of nodes with several CPUs, against closed forms.
#include <array>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "analysis/projection/joint_phases.h"
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
  [[nodiscard]] double largest(double nodes) const {
    constexpr double kStepNs = 1;
    double sum = 0;
    for (double x = kStepNs / 2; x < length_ns; x += kStepNs) sum += 1 - std::pow(1 - delayed_by(x), nodes);
    return sum * kStepNs;
  }
};

double both_delayed_by(const NoiseModel& first, const NoiseModel& second, double x) {
  return 1 - (1 - first.delayed_by(x)) * (1 - second.delayed_by(x));
}

}  // namespace

// What comes in step has no chance in it: that of the interval is nothing but the ends of the blocks.
TEST_CASE("a tick in step is exact, and its interval is narrow", "[projection]") {
  constexpr Tick kTick{4e6, 7'000};
  ObservedCpu cpu(24'000);
  for (std::uint64_t at = 123'456; cpu.detour(at, 7'000, 0); at += 4'000'000) continue;
  const std::vector<double> delays{0, 0.002, 0.0065, 0.5};
  const Projection seen = project({kGrain, {1, 10, 100}, {cpu.observed(0)}, the_sources(), delays});
  REQUIRE(seen.delayed.size() == delays.size());
  for (std::size_t i = 0; i < 3; ++i) {
    INFO(delays[i]);
    CHECK(seen.delayed[i].of_grain == delays[i]);
    REQUIRE(seen.delayed[i].p.value);
    CHECK(*seen.delayed[i].p.value == Approx(kTick.delayed_by(delays[i] * kGrainNs)).epsilon(0.001));
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
    ObservedCpu one(5'700);
    ObservedCpu other(5'700);
    one.fill(first, random, HUGE_VAL);
    other.fill(second, random, HUGE_VAL);
    const Projection seen = project({kGrain, nodes, {one.observed(0), other.observed(1)}, the_sources()});
    held[0] += holds(seen.delayed[0].p, both_delayed_by(first, second, 0)) ? 1 : 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) held[i + 1] += holds(seen.sizes[i].excess, truth[i]) ? 1 : 0;
  }
  INFO("p " << held[0] << ", slowdown " << held[1] << " " << held[2] << " " << held[3]);
  for (const int each : held) CHECK(each >= kLeast);
}

TEST_CASE("ticks that come to both CPUs at once cost less than if they came by chance, in turns more", "[projection]") {
  constexpr Tick kTick{4e6, 7'000};
  constexpr std::uint64_t kGrains = 24'000;
  for (const std::uint64_t apart_ns : {0U, 2'000'000U}) {
    INFO(apart_ns);
    ExcessBlocks blocks(kGrains * kGrain);
    JointPhases joint(kGrain, 2, blocks);
    ObservedCpu one(kGrains);
    ObservedCpu other(kGrains);
    joint.begin(0, 0);
    joint.begin(1, 0);
    for (std::uint64_t at = 123'456; one.detour(at, 7'000, 0) && other.detour(at + apart_ns, 7'000, 0);
         at += 4'000'000) {
      joint.detour(0, at, at + 7'000);
      joint.detour(1, at + apart_ns, at + apart_ns + 7'000);
    }
    joint.end(0, kGrains * kGrain);
    joint.end(1, kGrains * kGrain);
    REQUIRE(joint.complete());
    const Projection seen = project({kGrain, {1}, {one.observed(0), other.observed(1)}, the_sources(), {0}, &blocks});
    // By chance: 1 - (1 - q)^2 for each delay; at once: q; in turns, and never both in one phase: 2 q.
    const double once = kTick.largest(1);
    const double truth = (apart_ns == 0 ? 1 : 2) * once / kTick.largest(2);
    REQUIRE(seen.together);
    REQUIRE(seen.together->value);
    CHECK(*seen.together->value == Approx(truth).epsilon(0.01));
    CHECK(*seen.together->low <= truth * 1.01);
    CHECK(*seen.together->high >= truth * 0.99);
    CHECK((apart_ns == 0 ? *seen.together->high < 1 : *seen.together->low > 1));
  }
}
