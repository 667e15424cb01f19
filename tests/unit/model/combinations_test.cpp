// SPDX-License-Identifier: Apache-2.0
// The combination table against a map, at its capacity and past it.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "model/combinations.h"

namespace {

using noised::Combination;
using noised::CombinationKey;
using noised::CombinationTable;
using noised::kOtherSource;
using noised::Moments;
using noised::SourceId;
using Sources = std::vector<SourceId>;

struct Sums {
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t max_ns = 0;
  bool operator==(const Sums&) const = default;
};

Sources sources_of(const CombinationKey& key) { return {key.sources().begin(), key.sources().end()}; }

std::map<Sources, Sums> as_map(const CombinationTable& table) {
  std::map<Sources, Sums> map;
  for (const Combination& c : table.kept()) {
    REQUIRE(map.emplace(sources_of(c.key), Sums{c.moments.count(), c.moments.total_ns(), c.moments.max_ns()}).second);
  }
  const Combination& other = table.other();
  const Moments& rest = other.moments;
  if (rest.count() > 0) map[sources_of(other.key)] = {rest.count(), rest.total_ns(), rest.max_ns()};
  return map;
}

void add(std::map<Sources, Sums>& map, const Sources& sources, std::uint64_t detour_ns) {
  Sums& sums = map[sources];
  ++sums.count;
  sums.total_ns += detour_ns;
  sums.max_ns = std::max(sums.max_ns, detour_ns);
}

Sources random_sources(std::mt19937_64& random) {
  Sources sources(random() % 5);
  for (SourceId& source : sources) source = static_cast<SourceId>(random() % 6);
  return sources;
}

Sources ascending(std::size_t count) {
  Sources sources(count);
  std::iota(sources.begin(), sources.end(), SourceId{0});
  return sources;
}

}  // namespace

TEST_CASE("a key keeps up to twelve sources and marks what it drops", "[statistics]") {
  REQUIRE(sources_of(CombinationKey()).empty());
  REQUIRE(sources_of(CombinationKey(ascending(1))) == ascending(1));
  REQUIRE(sources_of(CombinationKey(ascending(12))) == ascending(12));
  Sources truncated = ascending(11);
  truncated.push_back(kOtherSource);
  REQUIRE(sources_of(CombinationKey(ascending(13))) == truncated);
  REQUIRE(CombinationKey(ascending(13)) == CombinationKey(ascending(40)));
  REQUIRE_FALSE(CombinationKey(ascending(12)) == CombinationKey(ascending(13)));
}

TEST_CASE("keys differ by order and by trailing zeros", "[statistics]") {
  REQUIRE_FALSE(CombinationKey(Sources{1, 2}) == CombinationKey(Sources{2, 1}));
  REQUIRE_FALSE(CombinationKey(Sources{1}) == CombinationKey(Sources{1, 0}));
  REQUIRE_FALSE(CombinationKey(Sources{}) == CombinationKey(Sources{0}));
}

TEST_CASE("hashes of small keys spread over the slots", "[statistics]") {
  // Neighbouring ids, and ids that differ only above the bits that choose a slot.
  for (const SourceId scale : {1U, 4096U}) {
    std::set<std::uint64_t> slots;
    for (SourceId first = 0; first < 32; ++first) {
      for (SourceId second = 0; second < 32; ++second) {
        slots.insert(CombinationKey(Sources{first * scale, second * scale}).hash() % 2048);
      }
    }
    // 1024 keys thrown at random into 2048 slots hit 806 of them on average, with a deviation of 11.
    REQUIRE(slots.size() > 700);
  }
}

TEST_CASE("the table matches a map on random combinations", "[statistics]") {
  std::mt19937_64 random(1);
  CombinationTable table(5000);
  std::map<Sources, Sums> naive;
  for (int i = 0; i < 20000; ++i) {
    const Sources sources = random_sources(random);
    const std::uint64_t detour_ns = random() % 1000000;
    table.add(sources, detour_ns);
    add(naive, sources, detour_ns);
  }
  REQUIRE(as_map(table) == naive);
  REQUIRE(table.other().moments.count() == 0);
}

TEST_CASE("beyond its limit the table books new combinations on other", "[statistics]") {
  for (const std::uint32_t limit : {0U, 1U, 2U, 100U}) {
    std::mt19937_64 random(limit);
    CombinationTable table(limit);
    std::map<Sources, Sums> naive;
    for (int i = 0; i < 5000; ++i) {
      const Sources sources = random_sources(random);
      const std::uint64_t detour_ns = random() % 1000000;
      table.add(sources, detour_ns);
      const bool kept = naive.contains(sources) || naive.size() - naive.count({kOtherSource}) < limit;
      add(naive, kept ? sources : Sources{kOtherSource}, detour_ns);
    }
    CAPTURE(limit);
    REQUIRE(table.kept().size() == limit);
    REQUIRE(table.other().moments.count() > 0);
    REQUIRE(as_map(table) == naive);
  }
}

TEST_CASE("merged tables are as one", "[statistics]") {
  std::mt19937_64 random(2);
  CombinationTable left(2000);  // there are 1 + 6 + 36 + 216 + 1296 combinations to draw
  CombinationTable right(2000);
  CombinationTable both(2000);
  for (int i = 0; i < 3000; ++i) {
    const Sources sources = random_sources(random);
    const std::uint64_t detour_ns = random() % 1000000;
    (i % 3 == 0 ? left : right).add(sources, detour_ns);
    both.add(sources, detour_ns);
  }
  CombinationTable swapped = right;
  swapped.merge(left);
  left.merge(right);
  REQUIRE(as_map(left) == as_map(both));
  REQUIRE(as_map(swapped) == as_map(both));
}

TEST_CASE("a merge past the limit loses no detour", "[statistics]") {
  CombinationTable small(2);
  CombinationTable large;
  small.add(Sources{1}, 10);
  for (SourceId id = 0; id < 5; ++id) large.add(Sources{id}, 100);
  CombinationTable overflowing(0);
  overflowing.add(Sources{9}, 7);
  small.merge(large);
  small.merge(overflowing);
  REQUIRE(as_map(small) ==
          std::map<Sources, Sums>{{{1}, {2, 110, 100}}, {{0}, {1, 100, 100}}, {{kOtherSource}, {4, 307, 100}}});
}

TEST_CASE("a combination's total stays full", "[statistics]") {
  CombinationTable table;
  const std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
  table.add(Sources{1}, max);
  table.add(Sources{1}, 1);
  REQUIRE(as_map(table) == std::map<Sources, Sums>{{{1}, {2, max, max}}});
}
