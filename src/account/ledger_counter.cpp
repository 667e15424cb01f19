// SPDX-License-Identifier: Apache-2.0
// Counting.
#include "account/ledger_counter.h"

namespace noised::account {

LedgerCounter::LedgerCounter(const SourceTable& sources)
    : sources_(sources), recent_(sources), seen_in_(SourceTable::kCapacity, 0) {
  combination_.reserve(SourceTable::kCapacity);
}

void LedgerCounter::note_source(SourceId source) {
  if (seen_in_[source] == detour_number_) return;
  seen_in_[source] = detour_number_;
  combination_.push_back(source);
}

void LedgerCounter::count_gap(Kind kind, std::uint64_t ns) {
  statistics_.add_source(sources_.gap(kind), kind, ns);
  // Overhead is in every detour that has an interval: it would only repeat itself in every combination.
  if (kind != Kind::overhead) note_source(sources_.gap(kind));
}

void LedgerCounter::count_stolen(SourceId source, Kind kind, std::uint64_t stolen_ns, bool again) {
  statistics_.add_stolen(kind < Kind::hypervisor ? source : sources_.gap(kind), stolen_ns, again);
}

void LedgerCounter::count(const DetourLedger& ledger) {
  statistics_.add_detour(ledger.detour, ledger);
  recent_.count(ledger);

  ++detour_number_;
  combination_.clear();
  for (const LedgerEntry& entry : ledger.entries) {
    statistics_.add_source(entry.source, entry.kind, entry.self_ns);
    note_source(entry.source);
  }
  ledger.for_each_gap([this](Kind kind, std::uint64_t ns) { count_gap(kind, ns); });
  statistics_.add_combination(combination_, ledger.detour.end_ns - ledger.detour.start_ns);
}

}  // namespace noised::account
