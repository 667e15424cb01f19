// SPDX-License-Identifier: Apache-2.0
// The last minute, against an account of every ledger that keeps them all.
#include "account/recent.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "account/report_builder.h"

using namespace noised;
using namespace noised::account;

namespace {

constexpr std::size_t kSources = 12;

std::uint64_t recent_duration(const DetourLedger& ledger) { return ledger.detour.end_ns - ledger.detour.start_ns; }

class RecentScene {
 public:
  RecentScene() {
    for (std::size_t i = 0; i < kSources; ++i) ids.push_back(sources.intern(Kind::task, "task" + std::to_string(i)));
  }

  // Some entries, of which two may be of one source, and a gap.
  DetourLedger make() {
    DetourLedger ledger;
    for (std::size_t entries = random() % 4; entries > 0; --entries) {
      ledger.entries.push_back(
          {.source = ids[random() % kSources], .kind = Kind::task, .self_ns = 1 + random() % 100'000'000});
      ledger.explained_ns += ledger.entries.back().self_ns;
    }
    ledger.overhead_ns = ledger.entries.empty() ? 0 : random() % 300'000;
    if (ledger.entries.empty() || random() % 3 == 0) ledger.hypervisor_ns = 1 + random() % 200'000'000;
    ledger.detour = {5'000, 5'000 + ledger.sum_ns(), random() % 5 == 0};
    return ledger;
  }

  // Each source's part of one ledger.
  [[nodiscard]] std::map<SourceId, std::uint64_t> parts_of(const DetourLedger& ledger) const {
    std::map<SourceId, std::uint64_t> parts;
    for (const LedgerEntry& entry : ledger.entries) parts[entry.source] += entry.self_ns;
    ledger.for_each_gap([&](Kind kind, std::uint64_t ns) { parts[sources.gap(kind)] += ns; });
    return parts;
  }

  SourceTable sources;
  std::vector<SourceId> ids;
  std::mt19937 random{7};
};

}  // namespace

TEST_CASE("the last minute is what came in the slot that goes on and the six before", "[recent]") {
  RecentScene scene;
  RecentStatistics recent(scene.sources);
  std::deque<std::vector<DetourLedger>> slots(1);
  RecentCounts counts;
  for (int turn = 0; turn < 40; ++turn) {
    INFO("slot " << turn);
    // None at times: a source that was there may be gone, and come back.
    for (std::size_t left = scene.random() % 4 == 0 ? 0 : scene.random() % 30; left > 0; --left) {
      slots.back().push_back(scene.make());
      recent.count(slots.back().back());
    }
    recent.sum_to(counts);

    DetourTotals totals;
    std::map<SourceId, Moments> moments;
    std::map<SourceId, std::uint64_t> longest;
    std::uint64_t longest_ns = 0;
    for (const auto& slot : slots) {
      for (const DetourLedger& ledger : slot) {
        totals.add(ledger.detour, ledger);
        for (const LedgerEntry& entry : ledger.entries) moments[entry.source].add(entry.self_ns);
        ledger.for_each_gap([&](Kind kind, std::uint64_t ns) { moments[scene.sources.gap(kind)].add(ns); });
        if (recent_duration(ledger) <= longest_ns) continue;
        longest_ns = recent_duration(ledger);
        longest = scene.parts_of(ledger);
      }
    }
    CHECK(counts.totals.detours == totals.detours);
    CHECK(counts.totals.incomplete_detours == totals.incomplete_detours);
    CHECK(counts.totals.detour_ns == totals.detour_ns);
    CHECK(counts.totals.max_detour_ns == longest_ns);
    CHECK(counts.totals.adds_up_to(totals.detour_ns));
    CHECK(counts.totals.overhead_ns == totals.overhead_ns);
    CHECK(counts.sources.size() == moments.size());
    std::uint64_t sum_ns = 0;
    for (const RecentSource& source : counts.sources) {
      const Moments& expected = moments[source.id];
      CHECK(source.moments.count() == expected.count());
      CHECK(source.moments.total_ns() == expected.total_ns());
      CHECK(source.moments.max_ns() == expected.max_ns());
      CHECK(source.moments.min_ns() == expected.min_ns());
      CHECK(source.longest_ns == longest[source.id]);
      sum_ns += source.longest_ns;
    }
    CHECK(sum_ns == longest_ns);

    // Of the newest slots alone.
    const std::size_t newest = 1 + static_cast<std::size_t>(turn) % kRecentSlots;
    recent.sum_to(counts, newest);
    DetourTotals of_newest;
    for (std::size_t at = slots.size() - std::min(newest, slots.size()); at < slots.size(); ++at) {
      for (const DetourLedger& ledger : slots[at]) of_newest.add(ledger.detour, ledger);
    }
    CHECK(counts.totals.detours == of_newest.detours);
    CHECK(counts.totals.detour_ns == of_newest.detour_ns);
    CHECK(counts.totals.max_detour_ns == of_newest.max_detour_ns);
    std::uint64_t self_ns = 0;
    for (const RecentSource& source : counts.sources) self_ns += source.moments.total_ns();
    CHECK(self_ns == of_newest.detour_ns);

    recent.turn();
    slots.emplace_back();
    if (slots.size() > kRecentSlots) slots.pop_front();
  }
}

TEST_CASE("the begin of the last minute moves on with the slots", "[recent]") {
  RecentMarks marks;
  CHECK(marks.begin_of(kRecentSlots).elapsed_ns == 0);
  CHECK(marks.begin_of(1).elapsed_ns == 0);
  for (std::uint64_t turn = 1; turn <= 30; ++turn) {
    marks.turn().elapsed_ns = turn * kRecentSlotNs;
    const std::uint64_t slots = kRecentSlots - 1;  // that are over
    CHECK(marks.begin_of(kRecentSlots).elapsed_ns == (turn <= slots ? 0 : (turn - slots) * kRecentSlotNs));
    CHECK(marks.begin_of(1).elapsed_ns == turn * kRecentSlotNs);
    for (std::uint64_t of = 2; of <= kRecentSlots; ++of)
      CHECK(marks.begin_of(of).elapsed_ns == (turn + 1 < of ? 0 : (turn + 1 - of) * kRecentSlotNs));
  }
}

TEST_CASE("the slots of a time have all of it", "[recent]") {
  CHECK(recent_slots_of(1) == 2);
  CHECK(recent_slots_of(kRecentSlotNs) == 2);
  CHECK(recent_slots_of(kRecentSlotNs + 1) == 3);
  CHECK(recent_slots_of(6 * kRecentSlotNs) == kRecentSlots);
  CHECK(recent_slots_of(UINT64_MAX - kRecentSlotNs) == kRecentSlots);
}

TEST_CASE("what was lost lately is what was not lost before, reason by reason", "[recent]") {
  ReportLost before;
  before.events = 5;
  before.missed_runs = 2;
  before.by = {{1, "ring_full", 5}, {std::nullopt, "missed_run", 2}};
  ReportLost after = before;
  CHECK(lost_between(before, after).by.empty());
  after.events = 9;
  after.detours = 1;
  after.by = {{1, "ring_full", 6}, {2, "ring_full", 3}, {2, "detour_ring_full", 1}, {std::nullopt, "missed_run", 2}};
  const ReportLost lost = lost_between(before, after);
  CHECK(lost.events == 4);
  CHECK(lost.detours == 1);
  CHECK(lost.missed_runs == 0);
  REQUIRE(lost.by.size() == 3);
  CHECK((lost.by[0].cpu == 1U && lost.by[0].reason == "ring_full" && lost.by[0].count == 1));
  CHECK((lost.by[1].cpu == 2U && lost.by[1].reason == "ring_full" && lost.by[1].count == 3));
  CHECK((lost.by[2].cpu == 2U && lost.by[2].reason == "detour_ring_full" && lost.by[2].count == 1));
}
