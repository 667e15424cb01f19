// SPDX-License-Identifier: Apache-2.0
// Moments against integers of 128 bits and a long double in two passes, on data made to break one-pass methods.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "model/moments.h"

namespace {

using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using noised::Moments;
using Values = std::vector<std::uint64_t>;

Moments moments_of(const Values& values) {
  Moments moments;
  for (const std::uint64_t value : values) moments.add(value);
  return moments;
}

// Two passes over distances from the smallest value, which are exact in a long double's 64 bits.
double two_pass_stddev(const Values& values) {
  if (values.size() < 2) return 0;
  const std::uint64_t low = *std::min_element(values.begin(), values.end());
  const auto count = static_cast<long double>(values.size());
  long double mean = 0;
  for (const std::uint64_t value : values) mean += static_cast<long double>(value - low) / count;
  long double squares = 0;
  for (const std::uint64_t value : values) {
    const long double distance = static_cast<long double>(value - low) - mean;
    squares += distance * distance;
  }
  return static_cast<double>(std::sqrt(squares / (count - 1)));
}

void check(const Moments& moments, const Values& values) {
  std::uint64_t total = 0;
  for (const std::uint64_t value : values) total += value;
  REQUIRE(moments.count() == values.size());
  REQUIRE(moments.total_ns() == total);
  REQUIRE(moments.min_ns() == *std::min_element(values.begin(), values.end()));
  REQUIRE(moments.max_ns() == *std::max_element(values.begin(), values.end()));
  const std::uint64_t rounded = (total + values.size() / 2) / values.size();
  REQUIRE(moments.mean_ns() == rounded);
  REQUIRE_THAT(moments.stddev(), WithinRel(two_pass_stddev(values), 1e-9) || WithinAbs(two_pass_stddev(values), 1e-9));
}

// Offset plus 0 to spread - 1; small enough that a total of 2000 fits u64.
Values random_samples(std::mt19937_64& random, std::size_t count, std::uint64_t offset, std::uint64_t spread) {
  Values values(count);
  for (std::uint64_t& value : values) value = offset + random() % spread;
  return values;
}

}  // namespace

TEST_CASE("no durations have moments of zero", "[statistics]") {
  const Moments none;
  REQUIRE(none.count() == 0);
  REQUIRE(none.total_ns() == 0);
  REQUIRE(none.min_ns() == 0);
  REQUIRE(none.max_ns() == 0);
  REQUIRE(none.mean_ns() == 0);
  REQUIRE(none.stddev() == 0);
  REQUIRE(none.stddev_ns() == 0);
}

TEST_CASE("one duration has no deviation", "[statistics]") {
  const Moments one = moments_of({UINT64_MAX});
  REQUIRE(one.min_ns() == UINT64_MAX);
  REQUIRE(one.max_ns() == UINT64_MAX);
  REQUIRE(one.mean_ns() == UINT64_MAX);
  REQUIRE(one.stddev() == 0);
}

TEST_CASE("the deviation is that of a sample", "[statistics]") {
  const Moments moments = moments_of({2, 4, 4, 4, 5, 5, 7, 9});  // squares sum to 32 around 5
  REQUIRE_THAT(moments.stddev(), WithinRel(std::sqrt(32.0 / 7), 1e-15));
  REQUIRE(moments.stddev_ns() == 2);
  REQUIRE(moments_of({0, 10}).stddev_ns() == 7);
  REQUIRE(moments_of({0, 11}).stddev_ns() == 8);  // 7.78
}

TEST_CASE("the mean is rounded to the nearest integer, half up", "[statistics]") {
  REQUIRE(moments_of({1, 2}).mean_ns() == 2);
  REQUIRE(moments_of({1, 1, 2}).mean_ns() == 1);
  REQUIRE(moments_of({1, 2, 2}).mean_ns() == 2);
  REQUIRE(moments_of({0, 0, 0}).mean_ns() == 0);
}

TEST_CASE("moments match two passes on random and adversarial durations", "[statistics]") {
  std::mt19937_64 random(1);
  const std::uint64_t large = UINT64_MAX / 2000 - 1000000;  // 2^53: where a double no longer holds every integer
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1000000000}, large}) {
    for (const std::uint64_t spread : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{10}, std::uint64_t{1000000}}) {
      CAPTURE(offset, spread);
      const Values values = random_samples(random, 2000, offset, spread);
      check(moments_of(values), values);
    }
  }
  Values outlier = random_samples(random, 1000, 200, 10);
  outlier.push_back(std::uint64_t{1} << 50);
  check(moments_of(outlier), outlier);
  outlier.insert(outlier.begin(), std::uint64_t{1} << 52);
  check(moments_of(outlier), outlier);
}

TEST_CASE("a spread of one nanosecond survives an offset of 2^62", "[statistics]") {
  const std::uint64_t offset = std::uint64_t{1} << 62;
  REQUIRE_THAT(moments_of({offset, offset + 1, offset + 2}).stddev(), WithinRel(1.0, 1e-12));
  Moments left = moments_of({offset});
  left.merge(moments_of({offset + 2, offset + 1}));
  REQUIRE_THAT(left.stddev(), WithinRel(1.0, 1e-12));
}

TEST_CASE("merging moments is associative, commutative and like adding", "[statistics]") {
  std::mt19937_64 random(2);
  for (int round = 0; round < 50; ++round) {
    const std::uint64_t offset = (std::uint64_t{1} << 52) >> (random() % 52);
    const Values a = random_samples(random, random() % 300, offset, 1 + random() % 100000);
    const Values b = random_samples(random, 1 + random() % 300, offset / 2, 1 + random() % 100);
    const Values c = random_samples(random, random() % 300, offset * 2, 1 + random() % 10);

    Moments left = moments_of(a);
    left.merge(moments_of(b));
    left.merge(moments_of(c));
    Moments tail = moments_of(b);
    tail.merge(moments_of(c));
    Moments right = moments_of(a);
    right.merge(tail);
    Moments swapped = moments_of(c);
    swapped.merge(moments_of(b));
    swapped.merge(moments_of(a));
    Values all = a;
    all.insert(all.end(), b.begin(), b.end());
    all.insert(all.end(), c.begin(), c.end());

    check(left, all);
    check(right, all);
    check(swapped, all);
  }
}

TEST_CASE("moments add up many equal sets without losing the deviation", "[statistics]") {
  const Values values{1000000007, 1000000009, 1000000011};
  Moments merged;
  Values all;
  for (int i = 0; i < 1000; ++i) {
    merged.merge(moments_of(values));
    all.insert(all.end(), values.begin(), values.end());
  }
  check(merged, all);
}

TEST_CASE("a full total stays full and the largest deviation fits", "[statistics]") {
  Moments moments = moments_of({UINT64_MAX, UINT64_MAX});
  REQUIRE(moments.total_ns() == UINT64_MAX);
  moments.merge(moments_of({0, UINT64_MAX}));
  REQUIRE(moments.total_ns() == UINT64_MAX);
  REQUIRE(moments.count() == 4);
  REQUIRE(moments.min_ns() == 0);

  const std::uint64_t widest = moments_of({0, UINT64_MAX}).stddev_ns();
  REQUIRE_THAT(static_cast<double>(widest), WithinRel(0x1p64 / std::sqrt(2.0), 1e-12));
}
