// SPDX-License-Identifier: Apache-2.0
// Counting in slots, and adding them up.
#include "account/recent.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace noised::account {

RecentSource& RecentStatistics::row(SourceId id, Kind kind) {
  std::vector<RecentSource>& rows = slots_[current_].sources;
  std::uint32_t& row = row_of_[SourceTable::slot_of(id)];
  if (row == 0) {
    rows.push_back({id, kind, {}, 0});
    row = static_cast<std::uint32_t>(rows.size());
  }
  return rows[row - 1];
}

void RecentStatistics::count(const DetourLedger& ledger) {
  RecentCounts& slot = slots_[current_];
  const bool is_longest = ledger.detour.end_ns - ledger.detour.start_ns > slot.totals.max_detour_ns;
  slot.totals.add(ledger.detour, ledger);
  if (is_longest) {
    for (RecentSource& source : slot.sources) source.longest_ns = 0;
  }
  const auto add = [&](SourceId id, Kind kind, std::uint64_t ns) {
    RecentSource& source = row(id, kind);
    source.moments.add(ns);
    if (is_longest) source.longest_ns += ns;
  };
  for (const LedgerEntry& entry : ledger.entries) add(sources_.live(entry.source), entry.kind, entry.self_ns);
  ledger.for_each_gap([&](Kind kind, std::uint64_t ns) { add(sources_.gap(kind), kind, ns); });
}

void RecentStatistics::turn() {
  for (const RecentSource& source : slots_[current_].sources) row_of_[SourceTable::slot_of(source.id)] = 0;
  current_ = (current_ + 1) % kRecentSlots;
  slots_[current_].totals = DetourTotals();
  slots_[current_].sources.clear();
}

void RecentStatistics::let_go(const Departures& departures) {
  for (RecentCounts& slot : slots_) {
    for (std::size_t row = 0; row < slot.sources.size();) {
      RecentSource& from = slot.sources[row];
      const SourceId now = departures.now(from.id);
      const auto into = now == from.id ? slot.sources.end() : std::ranges::find(slot.sources, now, &RecentSource::id);
      if (into == slot.sources.end()) {
        from.id = now;
        ++row;
        continue;
      }
      into->moments.merge(from.moments);
      into->longest_ns += from.longest_ns;
      slot.sources.erase(slot.sources.begin() + static_cast<std::ptrdiff_t>(row));
    }
  }
  for (const Departure& departure : departures.all()) row_of_[SourceTable::slot_of(departure.from)] = 0;
  const std::vector<RecentSource>& rows = slots_[current_].sources;
  for (std::size_t row = 0; row < rows.size(); ++row)
    row_of_[SourceTable::slot_of(rows[row].id)] = static_cast<std::uint32_t>(row + 1);
}

void RecentStatistics::sum_to(RecentCounts& out, std::size_t slots) const {
  out.totals = DetourTotals();
  out.sources.clear();
  std::vector<std::uint32_t> row_of(SourceTable::kCapacity, 0);
  std::vector<const RecentCounts*> summed;  // the oldest first
  for (std::size_t before = std::min(slots, kRecentSlots); before-- > 0;)
    summed.push_back(&slots_[(current_ + kRecentSlots - before) % kRecentSlots]);
  const RecentCounts* const longest =
      *std::ranges::max_element(summed, {}, [](const RecentCounts* slot) { return slot->totals.max_detour_ns; });
  for (const RecentCounts* const each : summed) {
    const RecentCounts& slot = *each;
    out.totals.merge(slot.totals);
    for (const RecentSource& source : slot.sources) {
      std::uint32_t& row = row_of[SourceTable::slot_of(source.id)];
      if (row == 0) {
        out.sources.push_back({source.id, source.kind, {}, 0});
        row = static_cast<std::uint32_t>(out.sources.size());
      }
      RecentSource& sum = out.sources[row - 1];
      sum.moments.merge(source.moments);
      if (&slot == longest) sum.longest_ns = source.longest_ns;
    }
  }
}

ReportLost lost_between(const ReportLost& before, const ReportLost& after) {
  const auto since = [](std::uint64_t then, std::uint64_t now) { return now - std::min(then, now); };
  ReportLost lost;
  lost.events = since(before.events, after.events);
  lost.detours = since(before.detours, after.detours);
  lost.unpaired = since(before.unpaired, after.unpaired);
  lost.missed_runs = since(before.missed_runs, after.missed_runs);
  lost.incomplete_detours = since(before.incomplete_detours, after.incomplete_detours);
  using Key = std::pair<std::optional<unsigned>, std::string_view>;
  std::map<Key, std::uint64_t> counted;
  for (const ReportLoss& loss : before.by) counted.emplace(Key(loss.cpu, loss.reason), loss.count);
  for (const ReportLoss& loss : after.by) {
    const auto then = counted.find(Key(loss.cpu, loss.reason));
    const std::uint64_t count = since(then == counted.end() ? 0 : then->second, loss.count);
    if (count != 0) lost.by.push_back({loss.cpu, loss.reason, count});
  }
  return lost;
}

}  // namespace noised::account
