// SPDX-License-Identifier: Apache-2.0
// What was lost against what was reported, on scenes made by hand.
#include <catch2/catch_test_macros.hpp>

#include "unit/victim/scene.h"

using namespace noised;
using namespace noised::test;
using victim::Comparison;
using victim::SourceRow;

TEST_CASE("a gap with one cause is suffered from it, its entry and exit too", "[victim]") {
  const auto account = account_of({{10 * kUs, 20 * kUs}});
  const Comparison sums = compare(
      account,
      {detour(12 * kUs, 19 * kUs, {entry("vector", "local_timer", 4 * kUs), entry("hrtimer", "tick", 3 * kUs, 1)})});
  REQUIRE(sums.sources.size() == 1);
  const SourceRow& row = sums.sources[0];
  CHECK(row.name == "local_timer");
  CHECK(row.count == 1);
  CHECK(row.suffered_ns == 10 * kUs);
  CHECK(row.explained_ns == 7 * kUs);
  CHECK(row.overhead_ns == 0);
  CHECK(row.not_suffered_ns == 0);
  CHECK(row.ratio() == 0.7);
  CHECK(sums.suffered_ns == sums.gap_ns);
  CHECK(sums.unreported_ns == 0);
}

TEST_CASE("overhead that is reported is told apart from intervals", "[victim]") {
  const auto account = account_of({{10 * kUs, 20 * kUs}});
  const Comparison sums =
      compare(account, {with_overhead(10 * kUs, 20 * kUs, {entry("vector", "local_timer", 8 * kUs)})});
  CHECK(sums.sources.at(0).explained_ns == 8 * kUs);
  CHECK(sums.sources.at(0).overhead_ns == 2 * kUs);
  CHECK(sums.ratio() == 1);
}

TEST_CASE("what a gap has before a detour is its way in, and after the last one its way out", "[victim]") {
  const auto account = account_of({{100 * kUs, 1200 * kUs}});
  const std::vector<DetourView> detours = {
      detour(110 * kUs, 120 * kUs, {entry("vector", "local_timer", 10 * kUs)}),
      detour(130 * kUs, 1120 * kUs, {entry("task", "noised-task", 890 * kUs), entry("irq", "disk", 100 * kUs, 1)})};
  const Comparison sums = compare(account, detours, {.largest_overhead_ns = 1000 * kUs});
  CHECK(find_row(sums, "local_timer")->suffered_ns == 20 * kUs);
  CHECK(find_row(sums, "noised-task")->suffered_ns == 1080 * kUs);
  CHECK(find_row(sums, "disk") == nullptr);
  CHECK(sums.sources[0].name == "noised-task");
}

TEST_CASE("a gap without a detour is nobody's", "[victim]") {
  const Comparison sums = compare(account_of({{10 * kUs, 20 * kUs}, {30 * kUs, 35 * kUs}}), {});
  CHECK(sums.gaps == 2);
  CHECK(sums.unreported_gaps == 2);
  CHECK(sums.unreported_ns == 15 * kUs);
  CHECK(sums.sources.empty());
  CHECK(sums.ratio() == 0);
}

TEST_CASE("what the host takes beside a short interrupt is not the interrupt's", "[victim]") {
  const auto account = account_of({{10 * kUs, 4010 * kUs}});
  const Comparison sums = compare(account, {detour(20 * kUs, 23 * kUs, {entry("vector", "local_timer", 3 * kUs)})},
                                  {.largest_overhead_ns = 5 * kUs});
  CHECK(find_row(sums, "local_timer")->suffered_ns == 8 * kUs);
  CHECK(sums.beside_ns == 3992 * kUs);
  CHECK(sums.unreported_ns == 0);
}

TEST_CASE("a detour without a gap was not suffered", "[victim]") {
  const auto account = account_of({{10 * kUs, 20 * kUs}});
  const Comparison sums = compare(account, {detour(30 * kUs, 33 * kUs, {entry("vector", "local_timer", 3 * kUs)}),
                                            detour(40 * kUs, 40 * kUs + 700, {entry("nmi", "nmi", 700)})});
  CHECK(sums.not_suffered_ns == 3 * kUs + 700);
  CHECK(sums.short_ns == 700);
  CHECK(sums.suffered_ns == 0);
  CHECK(find_row(sums, "local_timer")->not_suffered_ns == 3 * kUs);
  CHECK(find_row(sums, "local_timer")->reported_ns() == 3 * kUs);
  CHECK(find_row(sums, "nmi")->suffered_ns == 0);
}

TEST_CASE("what is reported while the victim sleeps is told", "[victim]") {
  const auto account = account_of({}, {{10 * kMs, 20 * kMs, 20 * kMs + 50 * kUs}});
  const Comparison false_report = compare(account, {detour(12 * kMs, 14 * kMs, {entry("task", "other", 2 * kMs)})});
  CHECK(false_report.asleep_ns == 2 * kMs);
  CHECK(false_report.not_suffered_ns == 2 * kMs);
  CHECK(false_report.late_unreported_ns == 50 * kUs);
  const Comparison around = compare(account, {detour(9 * kMs, 30 * kMs, {entry("task", "other", 21 * kMs)})});
  CHECK(around.asleep_ns == 10 * kMs);
}

TEST_CASE("a wait after a sleep is suffered, and no more than the lateness", "[victim]") {
  const auto account = account_of({}, {{10 * kMs, 20 * kMs, 22 * kMs}, {30 * kMs, 40 * kMs, 40 * kMs + 5 * kUs}});
  const Comparison sums = compare(
      account, {detour(20 * kMs + 10 * kUs, 22 * kMs - 10 * kUs, {entry("task", "other", 2 * kMs - 20 * kUs)})});
  CHECK(sums.late_ns == 2 * kMs + 5 * kUs);
  CHECK(sums.late_unreported_ns == 5 * kUs);
  CHECK(sums.suffered_ns == 2 * kMs);
  CHECK(sums.gap_ns == 0);
  CHECK(sums.asleep_ns == 0);
}

TEST_CASE("what overlaps the edge of the window does not count, on either side", "[victim]") {
  const auto account = account_of({{10 * kUs, 20 * kUs}, {30 * kUs, 40 * kUs}, {50 * kUs, 60 * kUs}});
  const std::vector<DetourView> detours = {detour(12 * kUs, 18 * kUs, {entry("irq", "disk", 6 * kUs)}),
                                           detour(32 * kUs, 38 * kUs, {entry("irq", "disk", 6 * kUs)}),
                                           detour(52 * kUs, 58 * kUs, {entry("irq", "disk", 6 * kUs)})};
  const Comparison sums = compare(account, detours, {.from_ns = 19 * kUs, .to_ns = 51 * kUs});
  CHECK(sums.gaps == 1);
  CHECK(sums.detours == 1);
  CHECK(sums.gap_ns == 10 * kUs);
  CHECK(sums.reported_ns == 6 * kUs);
}

TEST_CASE("one detour over several gaps takes them all", "[victim]") {
  const auto account = account_of({{10 * kUs, 20 * kUs}, {25 * kUs, 40 * kUs}});
  const Comparison sums = compare(account, {detour(12 * kUs, 38 * kUs, {entry("task", "other", 26 * kUs)})});
  CHECK(sums.sources.at(0).suffered_ns == 25 * kUs);
  CHECK(sums.gaps == 2);
}

TEST_CASE("a detour of nothing but overhead has a row, and doubts are counted", "[victim]") {
  DetourView empty = detour(12 * kUs, 15 * kUs, {});
  empty.overhead_ns = 3 * kUs;
  empty.incomplete = true;
  const Comparison sums = compare(account_of({{10 * kUs, 20 * kUs}}), {empty});
  CHECK(find_row(sums, "overhead")->suffered_ns == 10 * kUs);
  CHECK(find_row(sums, "overhead")->overhead_ns == 3 * kUs);
  CHECK(sums.incomplete == 1);
}

TEST_CASE("parts sum to the whole", "[victim]") {
  using Parts = std::vector<std::uint64_t>;
  CHECK(victim::divide(10, {1, 1, 1}) == Parts{3, 3, 4});
  CHECK(victim::divide(7, {0, 0}) == Parts{3, 4});
  CHECK(victim::divide(7, {}).empty());
  CHECK(victim::divide(0, {5, 6}) == Parts{0, 0});
  CHECK(victim::divide(UINT64_MAX, {UINT64_MAX / 2, UINT64_MAX / 2}) == Parts{UINT64_MAX / 2, UINT64_MAX / 2 + 1});
}
