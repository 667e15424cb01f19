// SPDX-License-Identifier: Apache-2.0
// The running median against sorted lists, and the bounds of overhead against a host that steals time.
#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstdint>
#include <random>
#include <vector>

#include "account/overhead_bounds.h"

namespace {

using namespace noised;
using namespace noised::account;

constexpr std::uint64_t kStolenNs = 4'000'000;

// The largest that a quantile of `ns` may be reported as.
std::uint64_t one_bucket_above(std::uint64_t ns) { return ns + ns / 32; }

// With an even count every number between the two in the middle is a median.
void require_median(const LowerHalf& median, std::vector<std::uint64_t> values) {
  std::sort(values.begin(), values.end());
  const std::uint64_t lower = values[(values.size() - 1) / 2];
  const std::uint64_t upper = values[values.size() / 2];
  CAPTURE(values.size(), lower, upper, median.median());
  REQUIRE(median.count() == values.size());
  REQUIRE(median.median() >= lower);
  REQUIRE(median.median() <= one_bucket_above(upper));
  const std::uint64_t quartile = values[(values.size() - 1) / 4];
  REQUIRE(median.lower_quartile() >= quartile);
  REQUIRE(median.lower_quartile() <= one_bucket_above(quartile));
}

}  // namespace

TEST_CASE("a median of nothing is 0", "[attribution]") {
  const LowerHalf median;
  REQUIRE(median.count() == 0);
  REQUIRE(median.median() == 0);
}

TEST_CASE("the median of one duration is that duration, to 1/32", "[attribution]") {
  std::vector<std::uint64_t> durations;
  for (std::uint64_t ns = 0; ns < 5'000; ++ns) durations.push_back(ns);
  for (unsigned power = 12; power < 31; ++power) {
    const std::uint64_t edge = std::uint64_t{1} << power;
    for (std::uint64_t eighth = 0; eighth < 8; ++eighth) {
      const std::uint64_t sub = edge + eighth * (edge / 8);
      durations.insert(durations.end(), {sub - 1, sub, sub + 1});
    }
  }
  for (const std::uint64_t ns : durations) {
    LowerHalf median;
    median.add(ns);
    require_median(median, {ns});
  }
}

TEST_CASE("durations above the last bucket count as long ones", "[attribution]") {
  LowerHalf median;
  for (const std::uint64_t ns : {std::uint64_t{1} << 31, std::uint64_t{1} << 32, std::uint64_t{1} << 63, UINT64_MAX}) {
    median.add(ns);
  }
  REQUIRE(median.count() == 4);
  REQUIRE(median.median() >= (std::uint64_t{1} << 31) - 1);
  for (int i = 0; i < 5; ++i) median.add(100);
  REQUIRE(median.median() >= 100);
  REQUIRE(median.median() <= 112);
}

TEST_CASE("the running median is that of a sorted list", "[attribution]") {
  const std::uint64_t seed = GENERATE(std::uint64_t{5}, std::uint64_t{Catch::getSeed()});
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 500; ++round) {
    const unsigned shift = 33 + static_cast<unsigned>(random() % 28);
    const bool any_magnitude = random() % 2 == 0;
    LowerHalf median;
    std::vector<std::uint64_t> values;
    const std::size_t count = 1 + random() % 60;
    for (std::size_t i = 0; i < count; ++i) {
      values.push_back(random() >> (any_magnitude ? 33 + random() % 31 : shift));
      median.add(values.back());
      require_median(median, values);
    }
  }
}

TEST_CASE("the bound is a first guess until enough gaps were seen", "[attribution]") {
  OverheadBounds bounds;
  for (std::uint64_t i = 0; i < OverheadBounds::kEnoughSamples; ++i) {
    REQUIRE(bounds.bound(GapPlace::before, Kind::vector) == OverheadBounds::kFirstGuessNs);
    bounds.learn({GapPlace::before, Kind::vector, 50'000});
  }
  REQUIRE(bounds.bound(GapPlace::before, Kind::vector) >= 2 * 50'000);
  REQUIRE(bounds.bound(GapPlace::before, Kind::vector) <= 2 * one_bucket_above(50'000));
}

TEST_CASE("what CPUs have learned is told from the smallest bound to the largest, with its sample", "[attribution]") {
  std::array<OverheadBounds, 3> cpus;
  for (int i = 0; i < 20; ++i) cpus[0].learn({GapPlace::before, Kind::vector, 5'000});
  for (int i = 0; i < 30; ++i) cpus[1].learn({GapPlace::before, Kind::vector, 50'000});
  for (int i = 0; i < 15; ++i) cpus[2].learn({GapPlace::before, Kind::vector, 500'000});  // too few
  for (int i = 0; i < 16; ++i) cpus[2].learn({GapPlace::after, Kind::irq, 100});
  LearnedBounds learned;
  for (const OverheadBounds& bounds : cpus) learned.add(bounds);
  std::vector<std::string> told;
  learned.for_each([&](GapPlace place, Kind kind, const LearnedBounds::Row& row) {
    told.push_back(std::string(to_string(place)) + " " + std::string(to_string(kind)));
    if (place == GapPlace::before) {
      CHECK(row.cpus == 2);
      CHECK(row.samples == 50);
      CHECK(row.least_ns == cpus[0].bound(place, kind));
      CHECK(row.most_ns == cpus[1].bound(place, kind));
    } else {
      CHECK(row.cpus == 1);
      CHECK(row.samples == 16);
      CHECK(row.least_ns == OverheadBounds::kFloorNs);
      CHECK(row.most_ns == OverheadBounds::kFloorNs);
    }
  });
  CHECK(told == std::vector<std::string>{"before vector", "after irq"});
  learned.clear();
  learned.for_each([](GapPlace, Kind, const LearnedBounds::Row&) { FAIL_CHECK("nothing is left"); });
}

TEST_CASE("every place and kind has a bound of its own", "[attribution]") {
  const auto typical = [](std::size_t place, std::size_t kind) { return 1'000 * (1 + place * kKindCount + kind); };
  OverheadBounds bounds;
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t place = 0; place < kGapPlaces; ++place) {
      for (std::size_t kind = 0; kind < kKindCount; ++kind) {
        const Gap gap{static_cast<GapPlace>(place), static_cast<Kind>(kind), typical(place, kind)};
        CAPTURE(place, kind);
        if (pass == 0) {
          REQUIRE(bounds.bound(gap.place, gap.kind) == OverheadBounds::kFirstGuessNs);
          for (int i = 0; i < 20; ++i) bounds.learn(gap);
        }
        REQUIRE(bounds.bound(gap.place, gap.kind) >= 2 * gap.ns);
        REQUIRE(bounds.bound(gap.place, gap.kind) <= 2 * one_bucket_above(gap.ns));
      }
    }
  }
}

TEST_CASE("no bound is below the floor", "[attribution]") {
  for (const std::uint64_t ns : {0U, 1U, 100U, 220U}) {
    OverheadBounds bounds;
    for (int i = 0; i < 1'000; ++i) bounds.learn({GapPlace::after, Kind::irq, ns});
    REQUIRE(bounds.bound(GapPlace::after, Kind::irq) == OverheadBounds::kFloorNs);
  }
}

// The walk over a median's buckets is not worth it after every gap: the bound may be of up to 64 gaps ago.
TEST_CASE("the bound follows median and quartile of what was seen up to a few gaps ago", "[attribution]") {
  const std::uint64_t seed = GENERATE(std::uint64_t{6}, std::uint64_t{Catch::getSeed()});
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  OverheadBounds bounds;
  std::vector<std::uint64_t> values;
  std::uint64_t since_explained = 0;
  for (int i = 0; i < 3'000; ++i) {
    const std::uint64_t ns = random() >> (40 + random() % 20);
    values.insert(std::upper_bound(values.begin(), values.end(), ns), ns);
    bounds.learn({GapPlace::between, Kind::softirq, ns});
    if (values.size() < OverheadBounds::kEnoughSamples) continue;
    const std::uint64_t bound = bounds.bound(GapPlace::between, Kind::softirq);
    const std::uint64_t quartile = values[(values.size() - 1) / 4];
    const std::uint64_t median = values[(values.size() - 1) / 2];
    const std::uint64_t nearest = median - std::min(median, one_bucket_above(quartile));
    const std::uint64_t farthest = one_bucket_above(median) - quartile;
    const std::uint64_t least =
        std::max({OverheadBounds::kFloorNs, 2 * median, median + OverheadBounds::kSpreads * nearest});
    const std::uint64_t most = std::max({OverheadBounds::kFloorNs, 2 * one_bucket_above(median),
                                         one_bucket_above(median) + OverheadBounds::kSpreads * farthest});
    since_explained = least <= bound && bound <= most ? 0 : since_explained + 1;
    CAPTURE(i, bound, least, most);
    REQUIRE(since_explained < 64);
    if (values.size() == OverheadBounds::kEnoughSamples) REQUIRE(since_explained == 0);
  }
}

TEST_CASE("a host that steals from 40% of the gaps does not stretch the bound", "[attribution]") {
  const std::uint64_t seed = GENERATE(std::uint64_t{8}, std::uint64_t{Catch::getSeed()});
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    OverheadBounds bounds;
    const std::uint64_t largest = 300 + random() % 3'000;
    std::uint64_t clean = 0;
    std::uint64_t stolen = 0;
    while (clean + stolen < 5'000) {
      const bool steal = (stolen + 1) * 5 <= (clean + stolen + 1) * 2 && random() % 2 == 0;
      ++(steal ? stolen : clean);
      bounds.learn(
          {GapPlace::after, Kind::vector, steal ? kStolenNs + random() % kStolenNs : largest - random() % 250});
      if (clean + stolen < OverheadBounds::kEnoughSamples) continue;
      const std::uint64_t bound = bounds.bound(GapPlace::after, Kind::vector);
      const std::uint64_t spread = one_bucket_above(largest) - (largest - 250);
      REQUIRE(bound <= std::max({OverheadBounds::kFloorNs, 2 * one_bucket_above(largest),
                                 one_bucket_above(largest) + OverheadBounds::kSpreads * spread}));
    }
    REQUIRE(stolen * 100 >= 35 * (clean + stolen));
  }
}

TEST_CASE("the bound follows a machine that becomes slower or faster within a minute", "[attribution]") {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const std::uint64_t rate = GENERATE(5U, 100U, 3'000U);  // gaps a second
  OverheadBounds bounds;
  const auto run = [&](std::uint64_t from_s, std::uint64_t to_s, std::uint64_t ns) {
    for (std::uint64_t i = from_s * rate; i < to_s * rate; ++i)
      bounds.learn({GapPlace::before, Kind::vector, ns + i % 100}, (i + 1) * kSecond / rate);
  };
  run(0, 600, 5'000);
  const std::uint64_t usual = bounds.bound(GapPlace::before, Kind::vector);
  CHECK(usual >= 10'000);
  CHECK(usual <= 12'000);
  run(600, 660, 15'000);  // a third of the frequency
  CHECK(bounds.bound(GapPlace::before, Kind::vector) >= 30'000);
  CHECK(bounds.bound(GapPlace::before, Kind::vector) <= 36'000);
  run(660, 720, 5'000);
  CHECK(bounds.bound(GapPlace::before, Kind::vector) >= 10'000);
  CHECK(bounds.bound(GapPlace::before, Kind::vector) <= 12'000);
}

TEST_CASE("what is rare is not forgotten", "[attribution]") {
  constexpr std::uint64_t kHour = 3'600'000'000'000;
  OverheadBounds bounds;
  for (std::uint64_t hour = 1; hour <= 100; ++hour) bounds.learn({GapPlace::before, Kind::nmi, 50'000}, hour * kHour);
  CHECK(bounds.bound(GapPlace::before, Kind::nmi) >= 100'000);
  bounds.learn({GapPlace::before, Kind::nmi, 50'000}, 5);  // of another CPU, told late
  CHECK(bounds.bound(GapPlace::before, Kind::nmi) >= 100'000);
}
