// SPDX-License-Identifier: Apache-2.0
// The longest detours of each CPU, against all of them sorted.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "account/longest_detours.h"

using namespace noised;
using namespace noised::account;

namespace {

FeedDetour detour_of(unsigned cpu, std::uint64_t start_ns, std::uint64_t duration_ns) {
  FeedDetour detour;
  detour.cpu = cpu;
  detour.start_ns = start_ns;
  detour.duration_ns = duration_ns;
  detour.entries[0].self_ns = duration_ns;
  detour.size = 1;
  detour.add_detail(DetailKey::pid, start_ns);
  return detour;
}

}  // namespace

TEST_CASE("the longest detours of each CPU are kept, however many come after them", "[account]") {
  for (const std::size_t cpus : {1U, 7U, 256U, 4'000U}) {
    INFO(cpus);
    LongestDetours longest(cpus);
    std::map<unsigned, std::vector<std::uint64_t>> all;
    std::mt19937_64 random(cpus);
    for (std::uint64_t at = 1; at <= 30'000; ++at) {
      const auto cpu = static_cast<unsigned>(random() % cpus);
      const std::uint64_t ns = random() % 100'000;  // some as long as others
      longest.add(detour_of(cpu, at, ns));
      all[cpu].push_back(ns);
      if (at % 500 == 0) longest.commit();
    }
    const std::size_t kept = std::clamp<std::size_t>(2'048 / cpus, 4, LongestDetours::kKept);
    std::vector<std::uint64_t> expected;
    for (auto& [cpu, durations] : all) {
      std::ranges::sort(durations, std::ranges::greater());
      durations.resize(std::min(durations.size(), kept));
      expected.insert(expected.end(), durations.begin(), durations.end());
    }
    std::ranges::sort(expected, std::ranges::greater());
    const std::vector<FeedDetour> shown = longest.read(SIZE_MAX);
    REQUIRE(shown.size() == expected.size());
    for (std::size_t i = 0; i < shown.size(); ++i) {
      REQUIRE(shown[i].duration_ns == expected[i]);
      REQUIRE(shown[i].entries[0].self_ns == expected[i]);
      REQUIRE(shown[i].text_size > 2);
    }
    CHECK(longest.read(3).size() == 3);
    CHECK(longest.read(3)[0].duration_ns == expected[0]);
  }
}

TEST_CASE("of detours that are as long, the first stays; what was not handed over is not shown", "[account]") {
  LongestDetours longest;
  for (std::uint64_t at = 1; at <= 2 * LongestDetours::kKept; ++at) longest.add(detour_of(3, at, 1'000));
  CHECK(longest.read(10).empty());
  longest.commit();
  const auto shown = longest.read(100);
  REQUIRE(shown.size() == LongestDetours::kKept);
  for (std::size_t i = 0; i < shown.size(); ++i) CHECK(shown[i].start_ns == i + 1);
  longest.add(detour_of(3, 77, 2'000));
  CHECK(longest.read(1)[0].duration_ns == 1'000);
  longest.commit();
  CHECK(longest.read(1)[0].start_ns == 77);
}
