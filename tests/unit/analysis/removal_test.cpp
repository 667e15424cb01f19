// SPDX-License-Identifier: Apache-2.0
// What goes with a source, in detours whose chains are known; and which sources are asked about.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "analysis/projection/removal.h"

using namespace noised;
using namespace noised::account;
using namespace noised::analysis;

namespace {

LedgerEntry removable(SourceId source, Kind kind, std::uint8_t depth, std::uint64_t self_ns) {
  LedgerEntry made;
  made.source = source;
  made.kind = kind;
  made.depth = depth;
  made.self_ns = self_ns;
  return made;
}

constexpr SourceId kTimerVector = 1;
constexpr SourceId kTick = 2;
constexpr SourceId kWakeup = 3;
constexpr SourceId kSoftirq = 4;
constexpr SourceId kWorker = 5;
constexpr SourceId kWork = 6;
constexpr SourceId kFault = 7;
constexpr SourceId kNmi = 8;

std::uint64_t without(const DetourLedger& ledger, SourceId source) {
  Removal removal;
  removal.look_at(ledger);
  return removal.without(source);
}

}  // namespace

TEST_CASE("an interrupt that only ran one timer goes with it, and the overhead too", "[projection]") {
  DetourLedger tick;
  tick.entries = {removable(kTimerVector, Kind::vector, 0, 100), removable(kTick, Kind::hrtimer, 1, 20)};
  tick.overhead_ns = 1'000;
  tick.hardware_ns = 7;
  CHECK(without(tick, kTick) == 1'120);
  CHECK(without(tick, kTimerVector) == 1'120);
  CHECK(without(tick, kWakeup) == 0);
}

TEST_CASE("what also ran another timer stays, and what runs afterwards keeps the overhead", "[projection]") {
  DetourLedger two;
  two.entries = {removable(kTimerVector, Kind::vector, 0, 100), removable(kTick, Kind::hrtimer, 1, 20),
                 removable(kWakeup, Kind::hrtimer, 1, 30), removable(kSoftirq, Kind::softirq, 0, 50)};
  two.overhead_ns = 1'000;
  CHECK(without(two, kTick) == 20);
  CHECK(without(two, kWakeup) == 30);
  CHECK(without(two, kTimerVector) == 150);
  CHECK(without(two, kSoftirq) == 50);
}

TEST_CASE("an interrupt inside a source would have come anyway, its page faults not", "[projection]") {
  DetourLedger busy;
  busy.entries = {removable(kWorker, Kind::task, 0, 500),     removable(kWork, Kind::work, 1, 300),
                  removable(kFault, Kind::page_fault, 2, 40), removable(kTimerVector, Kind::vector, 2, 100),
                  removable(kTick, Kind::hrtimer, 3, 20),     removable(kNmi, Kind::nmi, 1, 9)};
  busy.overhead_ns = 1'000;
  CHECK(without(busy, kWorker) == 840);
  CHECK(without(busy, kWork) == 840);  // the worker ran for nothing else
  CHECK(without(busy, kTick) == 120);
  CHECK(without(busy, kFault) == 40);
  CHECK(without(busy, kNmi) == 9);
}

TEST_CASE("the same source several times in a detour goes everywhere", "[projection]") {
  DetourLedger twice;
  twice.entries = {removable(kNmi, Kind::nmi, 0, 10), removable(kNmi, Kind::nmi, 0, 11)};
  twice.overhead_ns = 5;
  CHECK(without(twice, kNmi) == 26);
  const DetourLedger nothing;
  CHECK(without(nothing, kNmi) == 0);
}

TEST_CASE("sources with the most time are chosen, and those with the longest", "[projection]") {
  SourceTable sources;
  SourceTotals totals;
  for (std::uint64_t i = 0; i < 10; ++i) {
    DetourLedger ledger;
    const SourceId id = sources.intern(Kind::irq, std::to_string(i));
    ledger.entries.assign(20 - i, removable(id, Kind::irq, 0, 10));
    totals.add(ledger, sources);
  }
  DetourLedger seldom;
  seldom.entries = {removable(sources.intern(Kind::task, "seldom"), Kind::task, 0, 50),
                    removable(sources.intern(Kind::page_fault, "user"), Kind::page_fault, 0, 0)};
  seldom.hypervisor_ns = 20;
  seldom.hardware_ns = 40;
  seldom.overhead_ns = 1'000;
  totals.add(seldom, sources);
  const std::vector<RemovableSource> chosen = totals.choose(4, sources);
  REQUIRE(chosen.size() == 4);
  CHECK(chosen[0].name == "0");
  CHECK(chosen[0].total_ns == 200);
  CHECK(chosen[1].name == "1");
  CHECK(chosen[2].name == "seldom");
  CHECK(chosen[3].kind == Kind::hardware);
  CHECK(chosen[3].total_ns == 40);
  CHECK(totals.choose(100, sources).size() == 13);
  CHECK(totals.timed(sources).size() == 13);
  REQUIRE(totals.untimed(sources).size() == 1);
  CHECK(totals.untimed(sources)[0].kind == Kind::page_fault);
}
