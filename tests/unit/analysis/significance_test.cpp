// SPDX-License-Identifier: Apache-2.0
// Tests of significance, against every division counted one by one, and against chance that is known.
#include <algorithm>
#include <bit>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "analysis/baseline/significance.h"

using namespace noised;
using namespace noised::analysis;
using Catch::Approx;

namespace {

double rank_sum(const std::vector<double>& values, unsigned chosen) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if ((chosen >> i & 1U) == 0) continue;
    for (const double other : values) sum += other < values[i] ? 1 : other == values[i] ? 0.5 : 0;
  }
  return sum;
}

/// Every way to choose, one by one.
double rank_sum_p_by_hand(const std::vector<double>& left, const std::vector<double>& right) {
  std::vector<double> values = left;
  values.insert(values.end(), right.begin(), right.end());
  const double expected = static_cast<double>(left.size() * values.size()) / 2;
  const double seen = std::abs(rank_sum(values, (1U << left.size()) - 1) - expected);
  unsigned ways = 0;
  unsigned as_far = 0;
  for (unsigned chosen = 0; chosen < 1U << values.size(); ++chosen) {
    if (static_cast<std::size_t>(std::popcount(chosen)) != left.size()) continue;
    ++ways;
    if (std::abs(rank_sum(values, chosen) - expected) >= seen - 1e-9) ++as_far;
  }
  return static_cast<double>(as_far) / ways;
}

std::vector<double> some(std::mt19937_64& random, std::size_t count, unsigned different) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<double>(random() % different));
  return values;
}

}  // namespace

TEST_CASE("rank sums: p is the share of divisions that are as far apart", "[analysis][significance]") {
  std::mt19937_64 random(11);  // NOLINT(cert-msc51-cpp): the same every time
  for (int round = 0; round < 60; ++round) {
    const auto left = some(random, 1 + random() % 6, 1 + static_cast<unsigned>(random() % 12));
    const auto right = some(random, 1 + random() % 6, 1 + static_cast<unsigned>(random() % 12));
    CHECK(rank_sum_p(left, right) == Approx(rank_sum_p_by_hand(left, right)));
  }
  CHECK(rank_sum_p(std::vector<double>{}, std::vector<double>{1, 2}) == 1);
}

TEST_CASE("rank sums: a clean division of 31 and 31 is one of all of them, at either end", "[analysis][significance]") {
  std::vector<double> left;
  std::vector<double> right;
  for (int i = 0; i < 31; ++i) {
    left.push_back(i);
    right.push_back(100 + i);
  }
  const double ways = std::exp(std::lgamma(63.0) - 2 * std::lgamma(32.0));
  CHECK(rank_sum_p(left, right) == Approx(2 / ways));
  CHECK(rank_sum_p(right, left) == Approx(2 / ways));
}

TEST_CASE("rank sums: of equal sides, p is below any level as often as that", "[analysis][significance]") {
  std::mt19937_64 random(5);  // NOLINT(cert-msc51-cpp)
  int below = 0;
  constexpr int kRounds = 400;
  for (int round = 0; round < kRounds; ++round)
    below += rank_sum_p(some(random, 12, 1000), some(random, 12, 1000)) <= 0.1 ? 1 : 0;
  CHECK(below > kRounds / 20);  // 0.1 less, and more, than four deviations
  CHECK(below < kRounds / 6);
}

TEST_CASE("Holm's correction is the one of his paper's procedure", "[analysis][significance]") {
  const std::vector<double> adjusted = holm({0.04, 0.01, 0.03, 0.005});
  CHECK(adjusted[3] == Approx(0.02));
  CHECK(adjusted[1] == Approx(0.03));
  CHECK(adjusted[2] == Approx(0.06));
  CHECK(adjusted[0] == Approx(0.06));  // not below the one before
  CHECK(holm({0.5, 0.9}) == std::vector<double>{1, 1});
  CHECK(holm({}).empty());
}

TEST_CASE("neighbours that follow each other are seen, and joined", "[analysis][significance]") {
  const std::vector<double> swing{1, 9, 2, 8, 3, 7, 4, 6};
  const std::vector<double> slow{1, 2, 3, 4, 6, 7, 8, 9};
  CHECK(serial_correlation(swing, swing) < 0);
  CHECK(serial_correlation(slow, slow) > 0.4);
  CHECK(serial_correlation(std::vector<double>(8, 1.0), std::vector<double>(8, 2.0)) == 0);
  CHECK(serial_rank_sum_p(swing, slow, 8) == 1);  // nothing is left to be joined
}

TEST_CASE("what is only slow is called different no more often than what is quick", "[analysis][significance]") {
  std::mt19937_64 random(9);  // NOLINT(cert-msc51-cpp)
  std::normal_distribution<double> step;
  // Each value half of the one before: blocks of a burst.
  const auto run = [&] {
    std::vector<double> values;
    double value = 0;
    for (int i = 0; i < 31; ++i) values.push_back(value = 0.6 * value + step(random));
    return values;
  };
  int naive = 0;
  int careful = 0;
  for (int round = 0; round < 100; ++round) {
    const auto left = run();
    const auto right = run();
    naive += rank_sum_p(left, right) <= 0.01 ? 1 : 0;
    careful += serial_rank_sum_p(left, right, 8) <= 0.01 ? 1 : 0;
  }
  CHECK(naive > 5);  // or this test says nothing
  CHECK(careful <= 4);
  CHECK(careful < naive / 2);
}

TEST_CASE("a permutation test counts the divisions that are as large", "[analysis][significance]") {
  const std::vector<double> values{1, 2, 3, 10, 11, 12};
  const auto sum_of_right = [&](std::span<const std::size_t> left) {
    double sum = 39;
    for (const std::size_t i : left) sum -= values[i];
    return sum;
  };
  const double p = permutation_p(3, 3, 4000, sum_of_right);
  CHECK(p > 0.03);  // one of 20
  CHECK(p < 0.07);
  CHECK(p == permutation_p(3, 3, 4000, sum_of_right));
  CHECK(permutation_p(2, 2, 99, [](std::span<const std::size_t>) { return 1.0; }) == 1);
}
