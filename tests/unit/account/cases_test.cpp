// SPDX-License-Identifier: Apache-2.0
// Detours as they happen, worked out by hand: every number of the ledger is named.
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <vector>

#include "account/attributor.h"

namespace {

using namespace noised;
using namespace noised::account;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kStart = 1'000 * kMs;

enum : SourceId { kTimerVector, kTimerSoftirq, kTimerCallback, kFault, kTask, kHrtimer };

Interval piece(SourceId source, Kind kind, std::uint64_t from, std::uint64_t to) {
  return {.start_ns = kStart + from, .end_ns = kStart + to, .source = source, .kind = kind, .flags = 0};
}

DetourLedger ledger_of(std::uint64_t duration, const std::vector<Interval>& intervals, bool in_doubt = false,
                       const OverheadBounds& bounds = OverheadBounds()) {
  Attributor attributor;
  DetourLedger ledger;
  attributor.attribute({kStart, kStart + duration, in_doubt}, intervals, bounds, ledger);
  REQUIRE(ledger.explained_ns + ledger.overhead_ns + ledger.outside_ns() + ledger.unexplained_ns == duration);
  return ledger;
}

void require_entry(const LedgerEntry& entry, SourceId source, std::uint64_t from, unsigned depth, std::uint64_t self) {
  CAPTURE(source);
  REQUIRE(entry.source == source);
  REQUIRE(entry.start_ns == kStart + from);
  REQUIRE(entry.depth == depth);
  REQUIRE(entry.self_ns == self);
}

void require_gap(const Gap& gap, GapPlace place, Kind kind, std::uint64_t ns) {
  CAPTURE(static_cast<int>(place));
  REQUIRE(gap.place == place);
  REQUIRE(gap.kind == kind);
  REQUIRE(gap.ns == ns);
}

}  // namespace

TEST_CASE("a timer vector, then its softirq with a timer callback inside", "[attribution]") {
  // 300 entry, 1200 vector (its hrtimer 700 of them), 150 between, 2000 softirq (its callback 900 of them), 350 exit.
  const DetourLedger ledger = ledger_of(4'000, {
                                                   piece(kHrtimer, Kind::hrtimer, 500, 1'200),
                                                   piece(kTimerVector, Kind::vector, 300, 1'500),
                                                   piece(kTimerCallback, Kind::timer, 2'000, 2'900),
                                                   piece(kTimerSoftirq, Kind::softirq, 1'650, 3'650),
                                               });
  REQUIRE(ledger.entries.size() == 4);
  require_entry(ledger.entries[0], kTimerVector, 300, 0, 500);
  require_entry(ledger.entries[1], kHrtimer, 500, 1, 700);
  require_entry(ledger.entries[2], kTimerSoftirq, 1'650, 0, 1'100);
  require_entry(ledger.entries[3], kTimerCallback, 2'000, 1, 900);
  REQUIRE(ledger.entries[2].kind == Kind::softirq);
  REQUIRE(ledger.gaps.size() == 3);
  require_gap(ledger.gaps[0], GapPlace::before, Kind::vector, 300);
  require_gap(ledger.gaps[1], GapPlace::between, Kind::softirq, 150);
  require_gap(ledger.gaps[2], GapPlace::after, Kind::softirq, 350);
  REQUIRE(ledger.explained_ns == 3'200);
  REQUIRE(ledger.overhead_ns == 800);
  REQUIRE(ledger.outside_ns() == 0);
  REQUIRE(ledger.unexplained_ns == 0);
}

TEST_CASE("a page fault inside a task takes none of its time", "[attribution]") {
  const DetourLedger ledger =
      ledger_of(10'000, {piece(kFault, Kind::page_fault, 4'000, 4'000), piece(kTask, Kind::task, 1'000, 9'500)});
  REQUIRE(ledger.entries.size() == 2);
  require_entry(ledger.entries[0], kTask, 1'000, 0, 8'500);
  require_entry(ledger.entries[1], kFault, 4'000, 1, 0);
  REQUIRE(ledger.gaps.size() == 2);
  require_gap(ledger.gaps[0], GapPlace::before, Kind::task, 1'000);
  require_gap(ledger.gaps[1], GapPlace::after, Kind::task, 500);
  REQUIRE(ledger.overhead_ns == 1'500);
}

TEST_CASE("a page fault of the loop itself is overhead around an instant", "[attribution]") {
  const DetourLedger ledger = ledger_of(900, {piece(kFault, Kind::page_fault, 200, 200)});
  REQUIRE(ledger.entries.size() == 1);
  require_entry(ledger.entries[0], kFault, 200, 0, 0);
  REQUIRE(ledger.gaps.size() == 2);
  require_gap(ledger.gaps[0], GapPlace::before, Kind::page_fault, 200);
  require_gap(ledger.gaps[1], GapPlace::after, Kind::page_fault, 700);
  REQUIRE(ledger.explained_ns == 0);
  REQUIRE(ledger.overhead_ns == 900);
}

TEST_CASE("a task is charged for what is left of it by nested work", "[attribution]") {
  // A 2 ms task, interrupted by a vector, with a softirq on top and an NMI inside that; two levels end together.
  const DetourLedger ledger = ledger_of(2 * kMs + 3'000, {
                                                             piece(kTask, Kind::task, 2'000, 2 * kMs + 2'000),
                                                             piece(kTimerVector, Kind::vector, 100'000, 103'000),
                                                             piece(kTimerSoftirq, Kind::softirq, 101'000, 103'000),
                                                             piece(9, Kind::nmi, 101'500, 102'000),
                                                         });
  REQUIRE(ledger.entries.size() == 4);
  require_entry(ledger.entries[0], kTask, 2'000, 0, 2 * kMs - 3'000);
  require_entry(ledger.entries[1], kTimerVector, 100'000, 1, 1'000);
  require_entry(ledger.entries[2], kTimerSoftirq, 101'000, 2, 1'500);
  require_entry(ledger.entries[3], 9, 101'500, 3, 500);
  REQUIRE(ledger.explained_ns == 2 * kMs);
  REQUIRE(ledger.overhead_ns == 3'000);
}

TEST_CASE("a detour with nothing inside is from outside, or unexplained when in doubt", "[attribution]") {
  const DetourLedger sure = ledger_of(5'000, {});
  REQUIRE(sure.outside_ns() == 5'000);
  REQUIRE(sure.overhead_ns == 0);
  REQUIRE(sure.unexplained_ns == 0);
  REQUIRE(sure.entries.empty());
  REQUIRE(sure.gaps.empty());

  const DetourLedger doubtful = ledger_of(5'000, {}, true);
  REQUIRE(doubtful.unexplained_ns == 5'000);
  REQUIRE(doubtful.outside_ns() == 0);
  REQUIRE(doubtful.gaps.empty());
}

TEST_CASE("a gap of 4 ms around a timer interrupt of 3 us is not overhead", "[attribution]") {
  const std::vector<Interval> timer = {piece(kTimerVector, Kind::vector, 500, 3'500)};
  const DetourLedger guessed = ledger_of(4 * kMs + 3'000, timer);
  REQUIRE(guessed.explained_ns == 3'000);
  REQUIRE(guessed.overhead_ns == 500 + OverheadBounds::kFirstGuessNs);
  REQUIRE(guessed.outside_ns() == 4 * kMs - 500 - OverheadBounds::kFirstGuessNs);

  OverheadBounds learned;
  for (int i = 0; i < 100; ++i) learned.learn({GapPlace::after, Kind::vector, 6'000});
  const DetourLedger ledger = ledger_of(4 * kMs + 3'000, timer, false, learned);
  REQUIRE(ledger.overhead_ns >= 500 + 2 * 6'000);
  REQUIRE(ledger.overhead_ns <= 500 + 2 * 6'188);  // the median is known to 1/32
  REQUIRE(ledger.outside_ns() == 4 * kMs - ledger.overhead_ns);

  const DetourLedger doubtful = ledger_of(4 * kMs + 3'000, timer, true, learned);
  REQUIRE(doubtful.overhead_ns == ledger.overhead_ns);
  REQUIRE(doubtful.unexplained_ns == ledger.outside_ns());
  REQUIRE(doubtful.outside_ns() == 0);
}

TEST_CASE("of two that end together, the gap behind them is the outer one's", "[attribution]") {
  const DetourLedger ledger =
      ledger_of(4'000, {piece(kHrtimer, Kind::hrtimer, 500, 3'000), piece(kTimerVector, Kind::vector, 300, 3'000)});
  REQUIRE(ledger.gaps.size() == 2);
  require_gap(ledger.gaps[1], GapPlace::after, Kind::vector, 1'000);
}

TEST_CASE("each gap has the bound of its own place and kind", "[attribution]") {
  OverheadBounds bounds;
  for (int i = 0; i < 16; ++i) {
    bounds.learn({GapPlace::before, Kind::vector, 1});      // the floor
    bounds.learn({GapPlace::between, Kind::task, 15'000});  // over 20 us
  }
  const DetourLedger ledger =
      ledger_of(100'000, {piece(kTimerVector, Kind::vector, 20'000, 40'000), piece(kTask, Kind::task, 60'000, 80'000)},
                false, bounds);
  REQUIRE(ledger.explained_ns == 40'000);
  REQUIRE(ledger.overhead_ns == OverheadBounds::kFloorNs + 20'000 + OverheadBounds::kFirstGuessNs);
  REQUIRE(ledger.outside_ns() == 60'000 - ledger.overhead_ns);
}

TEST_CASE("intervals are cut at the edges of the detour", "[attribution]") {
  const DetourLedger ledger = ledger_of(1'000, {
                                                   {kStart - 400, kStart + 100, kTimerVector, Kind::vector, 0},
                                                   {kStart + 900, kStart + 5'000, kTask, Kind::task, 0},
                                               });
  REQUIRE(ledger.entries.size() == 2);
  require_entry(ledger.entries[0], kTimerVector, 0, 0, 100);
  require_entry(ledger.entries[1], kTask, 900, 0, 100);
  REQUIRE(ledger.gaps.size() == 1);
  require_gap(ledger.gaps[0], GapPlace::between, Kind::task, 800);
}

TEST_CASE("an interval as long as the detour, or longer, leaves no gap", "[attribution]") {
  for (const std::uint64_t beyond : {0U, 700U}) {
    const DetourLedger ledger = ledger_of(1'000, {{kStart - beyond, kStart + 1'000 + beyond, kTask, Kind::task, 0}});
    REQUIRE(ledger.entries.size() == 1);
    require_entry(ledger.entries[0], kTask, 0, 0, 1'000);
    REQUIRE(ledger.gaps.empty());
    REQUIRE(ledger.explained_ns == 1'000);
  }
}

TEST_CASE("an interval outside the detour explains none of it", "[attribution]") {
  const Interval earlier = {kStart - 900, kStart - 400, kTimerVector, Kind::vector, 0};
  const Interval later = {kStart + 1'400, kStart + 9'000, kTask, Kind::task, 0};
  const Interval touching = {kStart - 400, kStart, kTimerVector, Kind::vector, 0};
  const DetourLedger ledger = ledger_of(1'000, {earlier, touching, later});
  REQUIRE(ledger.explained_ns == 0);
  for (const LedgerEntry& entry : ledger.entries) REQUIRE(entry.self_ns == 0);

  const DetourLedger with_one_inside = ledger_of(1'000, {earlier, piece(9, Kind::nmi, 300, 500), touching, later});
  REQUIRE(with_one_inside.explained_ns == 200);
}

TEST_CASE("a detour of length zero has nothing to book", "[attribution]") {
  REQUIRE(ledger_of(0, {}).gaps.empty());
  REQUIRE(ledger_of(0, {}, true).unexplained_ns == 0);
  const DetourLedger instant = ledger_of(0, {piece(kFault, Kind::page_fault, 0, 0)});
  REQUIRE(instant.gaps.empty());
  REQUIRE(instant.entries.size() == 1);
  require_entry(instant.entries[0], kFault, 0, 0, 0);
  REQUIRE(ledger_of(0, {{kStart - 10, kStart + 10, kTask, Kind::task, 0}}).explained_ns == 0);
}

TEST_CASE("of two that started together the shorter is inside", "[attribution]") {
  const Interval outer = piece(kTask, Kind::task, 100, 900);
  const Interval inner = piece(kTimerVector, Kind::vector, 100, 300);
  for (const auto& intervals : {std::vector{outer, inner}, std::vector{inner, outer}}) {
    const DetourLedger ledger = ledger_of(1'000, intervals);
    REQUIRE(ledger.entries.size() == 2);
    require_entry(ledger.entries[0], kTask, 100, 0, 600);
    require_entry(ledger.entries[1], kTimerVector, 100, 1, 200);
    require_gap(ledger.gaps[0], GapPlace::before, Kind::task, 100);
  }
}

TEST_CASE("touching intervals are side by side", "[attribution]") {
  const DetourLedger ledger = ledger_of(1'000, {piece(1, Kind::irq, 200, 500), piece(2, Kind::softirq, 500, 800)});
  REQUIRE(ledger.entries.size() == 2);
  require_entry(ledger.entries[0], 1, 200, 0, 300);
  require_entry(ledger.entries[1], 2, 500, 0, 300);
  REQUIRE(ledger.gaps.size() == 2);
}

TEST_CASE("a depth of more than 255 is shown as 255", "[attribution]") {
  std::vector<Interval> deep;
  for (SourceId i = 0; i < 300; ++i) deep.push_back(piece(i, Kind::vector, i, 1'000 - i));
  const DetourLedger ledger = ledger_of(1'000, deep);
  REQUIRE(ledger.entries.size() == 300);
  REQUIRE(ledger.entries[254].depth == 254);
  REQUIRE(ledger.entries[299].depth == 255);
  REQUIRE(ledger.entries[299].self_ns == 402);
}

TEST_CASE("of two that both began before the detour the later one owns it", "[attribution]") {
  const Interval outer = {kStart - 100, kStart + 1'300, kTask, Kind::task, 0};
  const Interval inner = {kStart - 50, kStart + 1'200, kTimerVector, Kind::vector, 0};
  for (const auto& intervals : {std::vector{outer, inner}, std::vector{inner, outer}}) {
    const DetourLedger ledger = ledger_of(1'000, intervals);
    REQUIRE(ledger.entries.size() == 2);
    require_entry(ledger.entries[0], kTask, 0, 0, 0);
    require_entry(ledger.entries[1], kTimerVector, 0, 1, 1'000);
  }
}

TEST_CASE("what overlaps is named and nested by what is still open", "[attribution]") {
  const DetourLedger ledger = ledger_of(
      1'000, {piece(1, Kind::irq, 100, 300), piece(2, Kind::softirq, 200, 500), piece(3, Kind::task, 400, 600)});
  REQUIRE(ledger.entries.size() == 3);
  require_entry(ledger.entries[0], 1, 100, 0, 100);
  require_entry(ledger.entries[1], 2, 200, 1, 200);
  require_entry(ledger.entries[2], 3, 400, 1, 200);  // the irq has ended: only the softirq is around it
  require_gap(ledger.gaps[1], GapPlace::after, Kind::task, 400);
}
