// SPDX-License-Identifier: Apache-2.0
// Faults joined with their handling, and steal time divided.
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include <noised/abi.h>

#include "attribution/faults.h"
#include "attribution/steal.h"

using namespace noised;

namespace {

Interval fault(std::uint64_t at_ns, std::uint64_t ip) { return Interval{at_ns, at_ns, 1, Kind::page_fault, 0, ip, 0}; }
Interval handling(std::uint64_t start_ns, std::uint64_t end_ns, std::uint8_t flags = 0) {
  return Interval{start_ns, end_ns, 2, Kind::page_fault, static_cast<std::uint8_t>(NOISED_FLAG_HANDLING | flags), 0, 0};
}
Interval task(std::uint64_t start_ns, std::uint64_t end_ns) {
  return Interval{start_ns, end_ns, 3, Kind::task, 0, 7, 0};
}

}  // namespace

TEST_CASE("a fault takes the time of its handling", "[attribution]") {
  std::vector<Interval> intervals = {task(0, 1'000), fault(100, 0xa), handling(120, 300), fault(400, 0xb),
                                     handling(410, 500, NOISED_FLAG_SPLIT)};
  join_faults(intervals);
  REQUIRE(intervals.size() == 3);
  CHECK(intervals[1].id == 0xa);
  CHECK(intervals[1].start_ns == 100);
  CHECK(intervals[1].end_ns == 300);
  CHECK(intervals[1].flags == 0);
  CHECK(intervals[2].end_ns == 500);
  CHECK(intervals[2].flags == NOISED_FLAG_SPLIT);
}

TEST_CASE("a handling without its own fault stays apart", "[attribution]") {
  // Of two faults, the second is the one that was handled; the first was settled without.
  std::vector<Interval> intervals = {fault(50, 0xa), fault(100, 0xb), handling(120, 300), handling(310, 350)};
  join_faults(intervals);
  REQUIRE(intervals.size() == 3);
  CHECK(intervals[0].end_ns == 50);
  CHECK(intervals[1].end_ns == 300);
  CHECK(intervals[2].start_ns == 310);
  // Another task ran since: the fault is not this one's.
  intervals = {fault(50, 0xa), task(60, 200), handling(100, 120)};
  join_faults(intervals);
  CHECK(intervals.size() == 3);
  CHECK(intervals[0].end_ns == 50);
}

TEST_CASE("the hypervisor is charged with what it says it took, and one step", "[attribution]") {
  StealAccount account(10);
  CHECK(account.cover(4) == 4);  // the step: the clock has not moved yet
  CHECK(account.cover(100) == 6);
  CHECK(account.cover(1) == 0);
  account.add(20);  // repays the ten of before
  CHECK(account.cover(15) == 15);
  CHECK(account.cover(15) == 5);
  CHECK(account.stolen_ns() == 20);
  account.add(0);
  CHECK(account.cover(1) == 0);
}

TEST_CASE("steal time of long ago covers nothing now", "[attribution]") {
  StealAccount account(10);
  account.add(1'000);
  account.add(3);
  account.add(0);
  CHECK(account.cover(500) == 13);  // three of the second before, and a step
}

TEST_CASE("over any run the hypervisor's part is at most the steal time and one step", "[attribution]") {
  std::uint64_t seed = 1;
  const auto random = [&](std::uint64_t below) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (seed >> 33U) % below;
  };
  for (int round = 0; round < 200; ++round) {
    StealAccount account(10);
    std::uint64_t covered = 0;
    for (int step = 0; step < 100; ++step) {
      if (random(3) == 0) account.add(10 * random(4));
      const std::uint64_t gap = random(20);
      const std::uint64_t part = account.cover(gap);
      REQUIRE(part <= gap);
      covered += part;
      REQUIRE(covered <= account.stolen_ns() + 10);
    }
  }
}
