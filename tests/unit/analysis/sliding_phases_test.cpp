// SPDX-License-Identifier: Apache-2.0
// Phases that slide over a timeline, against a walk through each of them, half a nanosecond after half a nanosecond.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "analysis/projection/barrier.h"
#include "analysis/projection/sliding_phases.h"

using namespace noised;
using namespace noised::analysis;
using Catch::Approx;

namespace {

/// Stretches of time, each nanosecond of them work or detour.
using Away = std::vector<bool>;

struct Start {
  std::uint64_t position = 0;  // observed before it
  double excess = 0;
};

/// The delay of a phase that begins in the middle of a nanosecond; nothing if its end is not observed.
std::optional<double> walk(const Away& away, std::size_t start, std::uint64_t grain) {
  std::uint64_t left = 2 * grain;  // halves
  std::uint64_t delay = 0;
  for (std::size_t half = 2 * start + 1; half < 2 * away.size(); ++half) {
    if (away[half / 2]) {
      ++delay;
    } else if (--left == 0) {
      return static_cast<double>(delay) / 2;
    }
  }
  return std::nullopt;
}

std::vector<Start> walk_all(const std::vector<Away>& stretches, std::uint64_t grain) {
  std::vector<Start> starts;
  std::uint64_t before = 0;
  for (const Away& stretch : stretches) {
    for (std::size_t at = 0; at < stretch.size(); ++at) {
      if (const auto excess = walk(stretch, at, grain)) starts.push_back({before + at, *excess});
    }
    before += stretch.size();
  }
  return starts;
}

/// The same stretches as detours, some of which follow each other without a pause.
void slide(const std::vector<Away>& stretches, std::mt19937_64& random, SlidingPhases& phases) {
  std::uint64_t now = 1'000;
  for (const Away& stretch : stretches) {
    phases.begin(now);
    for (std::size_t at = 0; at < stretch.size();) {
      std::size_t end = at;
      while (end < stretch.size() && stretch[end] && (end == at || random() % 8 != 0)) ++end;
      if (end > at) phases.detour(now + at, now + end);
      at = std::max(end, at + 1);
    }
    now += stretch.size();
    phases.end(now);
    now += random() % 50;
  }
}

std::vector<Away> random_stretches(std::mt19937_64& random) {
  std::vector<Away> made(1 + random() % 3);
  const std::uint64_t busy = 2 + random() % 40;
  for (Away& stretch : made) {
    stretch.resize(random() % 300);
    for (std::size_t at = 0; at < stretch.size(); at += 1 + random() % busy) {
      for (std::uint64_t n = random() % 6; n > 0 && at < stretch.size(); --n, ++at) stretch[at] = true;
    }
  }
  return made;
}

double share_from(const std::vector<Start>& starts, double least) {
  const auto count =
      std::count_if(starts.begin(), starts.end(), [&](const Start& each) { return each.excess >= least; });
  return static_cast<double>(count) / static_cast<double>(starts.size());
}

double mean_of(const std::vector<Start>& starts) {
  double sum = 0;
  for (const Start& each : starts) sum += each.excess;
  return sum / static_cast<double>(starts.size());
}

/// Of the largest of n delays, each as likely as any.
double largest_of(std::vector<Start> starts, double nodes) {
  std::sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) { return a.excess < b.excess; });
  const auto count = static_cast<double>(starts.size());
  double sum = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto rank = static_cast<double>(i);
    sum += starts[i].excess * (std::pow((rank + 1) / count, nodes) - std::pow(rank / count, nodes));
  }
  return sum;
}

void check_same(const DelayCurve& curve, const std::vector<Start>& starts) {
  // Below 32 ns each bucket is a nanosecond: there the shares are exact.
  for (const double delay : {0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 31.0})
    REQUIRE(curve.delayed_from(delay) == Approx(share_from(starts, delay)).margin(1e-12));
  REQUIRE(curve.delayed() == Approx(share_from(starts, 1)).margin(1e-12));
  REQUIRE(curve.expected_excess_ns(1) == Approx(mean_of(starts)).margin(1e-9));
  for (const double nodes : {2.0, 5.0, 100.0}) {
    const double truth = largest_of(starts, nodes);
    REQUIRE(std::abs(curve.expected_excess_ns(nodes) - truth) <= 0.5 + truth * Excess::kRelativeError);
  }
}

}  // namespace

TEST_CASE("phases are what a walk through each of them says", "[projection]") {
  std::mt19937_64 random(Catch::getSeed());
  for (int round = 0; round < 400; ++round) {
    const std::uint64_t grain = 1 + random() % 60;
    const std::vector<Away> stretches = random_stretches(random);
    std::uint64_t observed = 0;
    for (const Away& stretch : stretches) observed += stretch.size();
    SlidingPhases phases(grain, observed);
    slide(stretches, random, phases);
    const ExcessBlocks& blocks = phases.excess();
    const std::vector<Start> starts = walk_all(stretches, grain);
    REQUIRE(blocks.starts_ns() == starts.size());
    const Excess all = blocks.of_age();
    DelayCurve curve;
    REQUIRE(curve.add(DelayTail(all, nullptr)) == !starts.empty());
    if (starts.empty()) continue;
    check_same(curve, starts);
    // Without any one block, what began in it is missing and nothing else.
    const std::size_t left_out = random() % ExcessBlocks::kBlocks;
    const std::uint64_t length = observed / ExcessBlocks::kBlocks + 1;
    std::vector<Start> rest;
    std::copy_if(starts.begin(), starts.end(), std::back_inserter(rest),
                 [&](const Start& each) { return each.position / length != left_out; });
    DelayCurve without;
    REQUIRE(without.add(DelayTail(all, &blocks.blocks()[left_out])) == !rest.empty());
    if (!rest.empty()) check_same(without, rest);
  }
}

TEST_CASE("one detour delays the phases that it meets, and shorter ones that begin in it", "[projection]") {
  SlidingPhases phases(1'000, 1'000'000);
  phases.begin(0);
  phases.detour(500'000, 500'010);
  phases.end(1'000'000);
  const ExcessBlocks& blocks = phases.excess();
  CHECK(blocks.starts_ns() == 999'000);
  DelayCurve curve;
  REQUIRE(curve.add(DelayTail(blocks.of_age(), nullptr)));
  // For a grain before it phases are delayed by all of it, for its length by the rest of it.
  CHECK(curve.delayed() == Approx((1'000.0 + 9) / 999'000));
  CHECK(curve.expected_excess_ns(1) == Approx((1'000.0 * 10 + 10 * 5) / 999'000));
  CHECK(curve.exceeded_ns(1e-4) == Approx(10).margin(0.01));
  CHECK(curve.exceeded_ns(0.5) == 0);
}

TEST_CASE("a delay is in a bucket at most a thirty-second wide", "[projection]") {
  for (std::uint64_t value : {0ULL, 1ULL, 31ULL, 32ULL, 33ULL, 1'000ULL, 123'456'789ULL, ~0ULL}) {
    const std::size_t number = Excess::number(value);
    CHECK(Excess::low_ns(number) <= static_cast<double>(value));
    CHECK(Excess::low_ns(number + 1) >= static_cast<double>(value));
    CHECK(Excess::low_ns(number + 1) - Excess::low_ns(number) <=
          std::max(1.0, static_cast<double>(value) * Excess::kRelativeError));
  }
}

TEST_CASE("delays of a node's CPUs multiply", "[projection]") {
  // One CPU delays half of its phases by 10, the other a tenth by 30: independent of each other.
  Excess one;
  one.add_level(0, 50);
  one.add_level(10, 50);
  Excess other;
  other.add_level(0, 90);
  other.add_level(30, 10);
  DelayCurve node;
  REQUIRE(node.add(DelayTail(one, nullptr)));
  REQUIRE(node.add(DelayTail(other, nullptr)));
  CHECK(node.delayed() == Approx(1 - 0.5 * 0.9));
  CHECK(node.expected_excess_ns(1) == Approx(0.1 * 30 + 0.9 * 0.5 * 10));
  CHECK(node.expected_excess_ns(2) == Approx((1 - 0.81) * 30 + 0.81 * 0.75 * 10));
  CHECK(node.exceeded_ns(0.2) == Approx(10));
  CHECK(node.exceeded_ns(0.05) == Approx(30));
  Excess always;  // each phase is delayed by at least 20
  always.add_level(20, 10);
  REQUIRE(node.add(DelayTail(always, nullptr)));
  CHECK(node.delayed() == 1);
  CHECK(node.expected_excess_ns(1e6) == Approx(30));
  CHECK(node.expected_excess_ns(1) == Approx(0.1 * 30 + 0.9 * 20));
  CHECK_FALSE(node.add(DelayTail(Excess(), nullptr)));
}
