// SPDX-License-Identifier: Apache-2.0
// Faults joined with their handling.
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include <noised/abi.h>

#include "account/attributor.h"

using namespace noised;
using namespace noised::account;

namespace {

Interval fault(std::uint64_t at_ns, std::uint64_t ip) { return Interval{at_ns, at_ns, 1, Kind::page_fault, 0, ip, 0}; }
Interval handling(std::uint64_t start_ns, std::uint64_t end_ns, std::uint8_t flags = 0) {
  return Interval{start_ns, end_ns, 2, Kind::page_fault, static_cast<std::uint8_t>(NOISED_FLAG_HANDLING | flags), 0, 0};
}
Interval handled(std::uint64_t start_ns, std::uint64_t end_ns) {
  return Interval{start_ns, end_ns, 3, Kind::task, 0, 7, 0};
}

}  // namespace

TEST_CASE("a fault takes the time of its handling", "[attribution]") {
  std::vector<Interval> intervals = {handled(0, 1'000), fault(100, 0xa), handling(120, 300), fault(400, 0xb),
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
  intervals = {fault(50, 0xa), handled(60, 200), handling(100, 120)};
  join_faults(intervals);
  CHECK(intervals.size() == 3);
  CHECK(intervals[0].end_ns == 50);
}
