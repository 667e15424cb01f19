// SPDX-License-Identifier: Apache-2.0
// For how long the thread that drains may come before others.
#include "noised/drain_priority.h"

#include <catch2/catch_test_macros.hpp>

using noised::daemon::RealtimeBudget;

namespace {

constexpr std::uint64_t kMs = 1'000'000;

}  // namespace

TEST_CASE("a thread that takes less than its budget comes first all the time") {
  RealtimeBudget budget(25);
  for (std::uint64_t ms = 1'000; ms < 10'000; ms += 25) REQUIRE(budget.allows(ms * kMs, ms * kMs / 4));
  CHECK(budget.times_used_up() == 0);
}

TEST_CASE("what is over the budget waits for the next second, which has a whole one") {
  RealtimeBudget budget(10);
  constexpr std::uint64_t kBegin = 5'000 * kMs;
  CHECK(budget.allows(kBegin, 700 * kMs));  // what it had before is not of this second
  CHECK(budget.allows(kBegin + 300 * kMs, 800 * kMs));
  CHECK_FALSE(budget.allows(kBegin + 325 * kMs, 800 * kMs + 1));
  CHECK_FALSE(budget.allows(kBegin + 999 * kMs, 800 * kMs + 1));
  CHECK(budget.times_used_up() == 1);
  CHECK(budget.allows(kBegin + 1'000 * kMs, 800 * kMs + 1));
  CHECK(budget.allows(kBegin + 1'500 * kMs, 900 * kMs + 1));
  CHECK_FALSE(budget.allows(kBegin + 1'525 * kMs, 900 * kMs + 2));
  CHECK(budget.times_used_up() == 2);
}

TEST_CASE("a second begins with the first drain in it, however late that is") {
  RealtimeBudget budget(10);
  CHECK(budget.allows(1'000 * kMs, 0));
  CHECK_FALSE(budget.allows(1'900 * kMs, 101 * kMs));
  CHECK(budget.allows(7'300 * kMs, 500 * kMs));
  CHECK(budget.allows(8'299 * kMs, 600 * kMs));
  CHECK_FALSE(budget.allows(8'299 * kMs, 601 * kMs));
}
