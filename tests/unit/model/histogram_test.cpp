// SPDX-License-Identifier: Apache-2.0
// The histogram against its definition at every power of two, and against sorted lists of random durations.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "model/histogram.h"

namespace {

using noised::Histogram;
using noised::HistogramBucket;
using Buckets = std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>>;

Buckets buckets_of(const Histogram& histogram) {
  Buckets buckets;
  histogram.for_each([&](const HistogramBucket& b) { buckets.emplace_back(b.low_ns, b.high_ns, b.count); });
  return buckets;
}

// Durations of every magnitude: uniform in the exponent, then in the bits below it.
std::vector<std::uint64_t> random_values(std::mt19937_64& random, std::size_t count) {
  std::vector<std::uint64_t> values(count);
  for (std::uint64_t& value : values) value = random() >> (random() % 64);
  return values;
}

Histogram histogram_of(const std::vector<std::uint64_t>& values) {
  Histogram histogram;
  for (const std::uint64_t value : values) histogram.add(value);
  return histogram;
}

void check_bucket(std::uint64_t value) {
  const HistogramBucket bucket = Histogram::bucket_of(value);
  CAPTURE(value, bucket.low_ns, bucket.high_ns);
  REQUIRE(bucket.low_ns <= value);
  REQUIRE(value <= bucket.high_ns);
  if (value < 128) {
    REQUIRE(bucket.low_ns == bucket.high_ns);
  } else {
    // Width over lower bound is at most 1/64; the division rounds down, so that this is not weaker.
    REQUIRE(bucket.high_ns - bucket.low_ns + 1 <= bucket.low_ns / 64);
  }
}

}  // namespace

TEST_CASE("a bucket holds its value and is at most 1/64 wide", "[statistics]") {
  check_bucket(0);
  check_bucket(UINT64_MAX);
  for (unsigned power = 0; power < 64; ++power) {
    const std::uint64_t boundary = std::uint64_t{1} << power;
    for (const std::uint64_t value : {boundary - 1, boundary, boundary + 1, boundary + boundary / 2}) {
      check_bucket(value);
    }
  }
  std::mt19937_64 random(1);
  for (const std::uint64_t value : random_values(random, 20000)) check_bucket(value);
}

TEST_CASE("buckets cover every u64 without gap or overlap", "[statistics]") {
  std::size_t buckets = 1;
  std::uint64_t high = Histogram::bucket_of(0).high_ns;
  for (; high != UINT64_MAX; ++buckets) {
    const HistogramBucket next = Histogram::bucket_of(high + 1);
    REQUIRE(next.low_ns == high + 1);
    high = next.high_ns;
  }
  REQUIRE(buckets == 59 * 64);
}

TEST_CASE("an empty histogram has no buckets and quantile 0", "[statistics]") {
  Histogram histogram;
  histogram.add(1000, 0);
  REQUIRE(histogram.count() == 0);
  REQUIRE(histogram.quantile(0.5) == 0);
  REQUIRE(buckets_of(histogram).empty());
}

TEST_CASE("counts match a naive count of random durations", "[statistics]") {
  std::mt19937_64 random(2);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::uint64_t> values = random_values(random, 1 + random() % 3000);
    values.push_back(0);
    values.push_back(UINT64_MAX);
    std::map<std::uint64_t, std::uint64_t> naive;
    for (const std::uint64_t value : values) ++naive[Histogram::bucket_of(value).low_ns];
    Buckets expected;
    for (const auto& [low, count] : naive) expected.emplace_back(low, Histogram::bucket_of(low).high_ns, count);

    const Histogram histogram = histogram_of(values);
    REQUIRE(histogram.count() == values.size());
    REQUIRE(buckets_of(histogram) == expected);
  }
}

TEST_CASE("a quantile is the upper bound of the bucket of the sorted list's value", "[statistics]") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20; ++round) {
    const std::size_t count = 1 + random() % 3000;
    std::vector<std::uint64_t> values = random_values(random, count);
    const Histogram histogram = histogram_of(values);
    std::sort(values.begin(), values.end());
    for (std::size_t permille = 0; permille <= 1000; ++permille) {
      // The rank in integers, where ceil(permille / 1000 * count) is exact.
      const std::size_t rank = std::max<std::size_t>(1, (permille * count + 999) / 1000);
      const std::uint64_t expected = Histogram::bucket_of(values[rank - 1]).high_ns;
      CAPTURE(permille, count);
      REQUIRE(histogram.quantile(static_cast<double>(permille) / 1000) == expected);
    }
  }
}

TEST_CASE("the highest quantile is exact in rank for counts beyond a double", "[statistics]") {
  Histogram histogram;
  histogram.add(1, UINT64_MAX - 1);
  histogram.add(1000000);
  REQUIRE(histogram.count() == UINT64_MAX);
  REQUIRE(histogram.quantile(1) == Histogram::bucket_of(1000000).high_ns);
  REQUIRE(histogram.quantile(0.999999) == 1);
  REQUIRE(histogram.quantile(0) == 1);
}

TEST_CASE("adding a count is adding that often", "[statistics]") {
  Histogram once;
  Histogram often;
  once.add(12345, 7);
  for (int i = 0; i < 7; ++i) often.add(12345);
  REQUIRE(buckets_of(once) == buckets_of(often));
  REQUIRE(once.count() == often.count());
}

TEST_CASE("merging histograms is associative, commutative and like adding", "[statistics]") {
  std::mt19937_64 random(4);
  for (int round = 0; round < 20; ++round) {
    const auto a = random_values(random, random() % 500);
    const auto b = random_values(random, random() % 500);
    const auto c = random_values(random, random() % 500);

    Histogram left = histogram_of(a);
    left.merge(histogram_of(b));
    left.merge(histogram_of(c));
    Histogram tail = histogram_of(b);
    tail.merge(histogram_of(c));
    Histogram right = histogram_of(a);
    right.merge(tail);
    Histogram swapped = histogram_of(c);
    swapped.merge(histogram_of(b));
    swapped.merge(histogram_of(a));
    std::vector<std::uint64_t> all = a;
    all.insert(all.end(), b.begin(), b.end());
    all.insert(all.end(), c.begin(), c.end());

    REQUIRE(buckets_of(left) == buckets_of(histogram_of(all)));
    REQUIRE(buckets_of(right) == buckets_of(left));
    REQUIRE(buckets_of(swapped) == buckets_of(left));
    REQUIRE(left.count() == all.size());
    REQUIRE(swapped.count() == all.size());
  }
}

TEST_CASE("a full histogram stays full", "[statistics]") {
  Histogram histogram;
  histogram.add(5, UINT64_MAX);
  histogram.add(5, 3);
  histogram.add(6, UINT64_MAX);
  Histogram other = histogram;
  other.merge(histogram);
  REQUIRE(other.count() == UINT64_MAX);
  REQUIRE(buckets_of(other) == Buckets{{5, 5, UINT64_MAX}, {6, 6, UINT64_MAX}});
  REQUIRE(other.quantile(1) == 5);  // no rank is above UINT64_MAX
}

TEST_CASE("a copied histogram is its own, and forgets what it held", "[statistics]") {
  Histogram original = histogram_of({1, 100, 1000});
  Histogram copy = histogram_of({1, 1 << 20});
  copy = original;
  original.add(1);
  REQUIRE(buckets_of(copy) == buckets_of(histogram_of({1, 100, 1000})));
  REQUIRE(copy.count() == 3);
}
