// SPDX-License-Identifier: Apache-2.0
// Shares of time, and how well they are known.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "analysis/advice/collector.h"

namespace noised {
using namespace noised::analysis;

namespace {

double total(const TimeBlocks& blocks) {
  double sum = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) sum += blocks.sum(i);
  return sum;
}

}  // namespace

TEST_CASE("blocks double without losing anything, and every amount stays where it was", "[advice]") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 50; ++round) {
    TimeBlocks blocks;
    std::vector<std::pair<std::uint64_t, double>> added;
    const std::uint64_t span = TimeBlocks::kFirstNs << random() % 20U;
    for (int i = 0; i < 200; ++i) {
      added.emplace_back(random() % span, static_cast<double>(random() % 1000));
      blocks.add(added.back().first, added.back().second);
    }
    REQUIRE(blocks.size() <= TimeBlocks::kMost);
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      double expected = 0;
      for (const auto& [at, amount] : added)
        if (at / blocks.width_ns() == block) expected += amount;
      REQUIRE(blocks.sum(block) == expected);
    }
  }
}

TEST_CASE("a stretch is divided between its blocks", "[advice]") {
  TimeBlocks blocks;
  blocks.add_stretch(500'000, 2'250'000);
  CHECK(blocks.sum(0) == 500'000);
  CHECK(blocks.sum(1) == 1'000'000);
  CHECK(blocks.sum(2) == 250'000);
  blocks.add_stretch(0, 1'000'000'000'000);
  CHECK(total(blocks) == 1'000'001'750'000);
  CHECK(blocks.size() <= TimeBlocks::kMost);
  blocks.add_stretch(7, 7);
  CHECK(total(blocks) == 1'000'001'750'000);
}

TEST_CASE("a stretch may end where time does", "[advice]") {
  TimeBlocks blocks;
  blocks.add_stretch(UINT64_MAX / 2, UINT64_MAX);
  CHECK(total(blocks) == Catch::Approx(static_cast<double>(UINT64_MAX / 2)));
  CHECK(blocks.size() <= TimeBlocks::kMost);
}

TEST_CASE("Student's t as in tables", "[advice]") {
  CHECK(students_t(7) == Catch::Approx(2.364624).epsilon(0.005));
  CHECK(students_t(10) == Catch::Approx(2.228139).epsilon(0.002));
  CHECK(students_t(31) == Catch::Approx(2.039513).epsilon(0.0005));
  CHECK(students_t(63) == Catch::Approx(1.998341).epsilon(0.0005));
}

TEST_CASE("too few blocks give no limits, no time gives nothing", "[advice]") {
  CHECK(share_of({}, {}).value == 0);
  TimeBlocks observed;
  TimeBlocks amount;
  observed.add_stretch(0, 5'000'000);
  amount.add(1'000, 500'000);
  const Share share = share_of(amount, observed);
  CHECK(share.value == Catch::Approx(0.1));
  CHECK_FALSE(share.low.has_value());
}

TEST_CASE("the limits hold the mean of what the blocks are a sample of, in 95 of 100", "[advice]") {
  std::mt19937_64 random(2);
  std::exponential_distribution<double> each(1.0 / 10'000);  // ns of noise in a millisecond, mean 1%
  int held = 0;
  constexpr int kRounds = 2'000;
  for (int round = 0; round < kRounds; ++round) {
    TimeBlocks observed;
    TimeBlocks amount;
    observed.add_stretch(0, 60'000'000);
    for (int i = 0; i < 60; ++i) {
      for (int part = 0; part < 10; ++part)
        amount.add(static_cast<std::uint64_t>(i) * 1'000'000 + 5, each(random) / 10);
    }
    const Share share = share_of(amount, observed);
    if (*share.low <= 0.01 && 0.01 <= *share.high) ++held;
  }
  CHECK(held > kRounds * 0.93);
  CHECK(held < kRounds * 0.97);
}

TEST_CASE("what stays is taken off, block by block", "[advice]") {
  TimeBlocks observed;
  TimeBlocks amount;
  TimeBlocks ticks;
  observed.add_stretch(0, 10'000'000);
  for (std::uint64_t i = 0; i < 10; ++i) {
    amount.add(i * 1'000'000, 30'000);
    ticks.add(i * 1'000'000, 20'000);
  }
  CHECK(share_of(amount, observed, ticks, 0.5).value == Catch::Approx(0.02));
  CHECK(*share_of(amount, observed, ticks, 0.5).high == Catch::Approx(0.02));
}

}  // namespace noised
