// SPDX-License-Identifier: Apache-2.0
// Counting.
#include "account/ledger_counter.h"

namespace noised::account {

LedgerCounter::LedgerCounter(const SourceTable& sources)
    : sources_(sources), recent_(sources), seen_in_(SourceTable::kCapacity, 0) {
  combination_.reserve(SourceTable::kCapacity);
}

void LedgerCounter::note_source(SourceId source) {
  std::uint64_t& seen_in = seen_in_[SourceTable::slot_of(source)];
  if (seen_in == detour_number_) return;
  seen_in = detour_number_;
  combination_.push_back(source);
}

void LedgerCounter::count_gap(Kind kind, std::uint64_t ns) {
  statistics_.add_source(sources_.gap(kind), kind, ns);
  // Overhead is in every detour that has an interval: it would only repeat itself in every combination.
  if (kind != Kind::overhead) note_source(sources_.gap(kind));
}

void LedgerCounter::count_stolen(SourceId source, Kind kind, std::uint64_t stolen_ns, bool again) {
  const SourceId of = kind < Kind::hypervisor ? sources_.live(source) : sources_.gap(kind);
  // One whose name has left since it was counted has taken along what is known of it.
  if (statistics_.source(of) != nullptr) statistics_.add_stolen(of, stolen_ns, again);
}

void LedgerCounter::count_public(SourceId name, std::uint64_t self_ns) {
  const std::size_t slot = SourceTable::slot_of(name);
  if (public_sums_.size() <= slot) public_sums_.resize(slot + 1);
  public_sums_[slot].ns += self_ns;
  ++public_sums_[slot].times;
}

void LedgerCounter::let_go(const Departures& departures) {
  statistics_.let_go(departures);
  recent_.let_go(departures);
}

void LedgerCounter::count(const DetourLedger& ledger) {
  statistics_.add_detour(ledger.detour, ledger);
  recent_.count(ledger);

  ++detour_number_;
  combination_.clear();
  for (const LedgerEntry& entry : ledger.entries) {
    // A wait may be told long after what it waited for, whose name may have left since.
    const SourceId source = sources_.live(entry.source);
    const std::uint32_t pid = entry.kind == Kind::task ? static_cast<std::uint32_t>(entry.id) : 0;
    statistics_.add_source(source, entry.kind, entry.self_ns, pid);
    note_source(source);
  }
  ledger.for_each_gap([this](Kind kind, std::uint64_t ns) { count_gap(kind, ns); });
  statistics_.add_combination(combination_, ledger.detour.end_ns - ledger.detour.start_ns);
}

}  // namespace noised::account
