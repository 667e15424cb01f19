// SPDX-License-Identifier: Apache-2.0
// How often 95% intervals hold where noise has moods: quiet times and busy ones, of random length.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cmath>

#include "unit/analysis/projection_observe.h"

using namespace noised;
using namespace noised::analysis;
using namespace noised::test;

namespace {

constexpr double kSecondNs = 1e9;

/// Detours of exponential lengths, as often as the mood has it.
struct Moods {
  double mean_ns;  ///< of how long one lasts
  NoiseModel busy = with(0.4);
  NoiseModel quiet = with(0.02);

  static NoiseModel with(double per_grain) {
    NoiseModel model = exponential_noise(10'000);
    model.per_grain = per_grain;
    return model;
  }
  void fill(ObservedNode& node, std::mt19937_64& random) const {
    bool is_busy = random() % 2 == 0;
    double until = 0;
    for (double now = 0;;) {
      const double next = now - std::log(uniform(random)) * kGrainNs / (is_busy ? busy : quiet).per_grain;
      if (next >= until) {  // without memory: the next is drawn anew in the next mood
        now = until;
        is_busy = !is_busy;
        until -= std::log(uniform(random)) * mean_ns;
        continue;
      }
      const double length = std::max(1.0, std::round(busy.length(random)));
      if (!node.detour(0, static_cast<std::uint64_t>(next), static_cast<std::uint64_t>(length))) return;
      now = next + length;
    }
  }
  /// E(max of n) / G - 1 of nodes each of which has its own moods.
  [[nodiscard]] double excess(std::uint64_t nodes) const {
    constexpr double kStepNs = 50;
    double sum = 0;
    for (double x = kStepNs / 2; x < 4e5; x += kStepNs) {
      const double within = 1 - (busy.delayed_by(x) + quiet.delayed_by(x)) / 2;
      sum += 1 - std::pow(within, static_cast<double>(nodes));
    }
    return sum * kStepNs / kGrainNs;
  }
};

}  // namespace

TEST_CASE("95% intervals of a slowdown hold where noise has moods of a twelfth of the time", "[projection]") {
  constexpr int kRuns = 500;
  struct Case {
    double mood_s;
    std::uint64_t observed_s;
  };
  for (const Case& each : {Case{0.2, 10}, Case{1, 12}, Case{1, 60}, Case{5, 60}}) {
    const Moods moods{each.mood_s * kSecondNs};
    const double truth = moods.excess(1);
    std::mt19937_64 random(71);  // NOLINT(cert-msc51-cpp): the same every time
    int wrong = 0;
    int told = 0;
    for (int run = 0; run < kRuns; ++run) {
      ObservedNode node(each.observed_s * 1'000);
      moods.fill(node, random);
      const Estimate excess = node.project({1}).sizes[0].excess;
      if (!excess.value) continue;
      ++told;
      wrong += holds(excess, truth) ? 0 : 1;
    }
    INFO("moods of " << each.mood_s << " s, " << each.observed_s << " s observed: told " << told << ", wrong "
                     << wrong);
    CHECK(wrong <= kRuns * 7 / 100);
    CHECK(told >= kRuns / 2);
  }
}
