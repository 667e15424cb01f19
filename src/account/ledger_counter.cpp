// SPDX-License-Identifier: Apache-2.0
// Counting.
#include "pipeline/ledger_counter.h"

namespace noised {

LedgerCounter::LedgerCounter(const SourceTable& sources) : sources_(sources), seen_in_(SourceTable::kCapacity, 0) {
  combination_.reserve(SourceTable::kCapacity);
}

void LedgerCounter::note_source(SourceId source) {
  if (seen_in_[source] == detour_number_) return;
  seen_in_[source] = detour_number_;
  combination_.push_back(source);
}

void LedgerCounter::count_gap(Kind kind, std::uint64_t ns) {
  if (ns == 0) return;
  statistics_.add_source(sources_.gap(kind), kind, ns);
  // Overhead is in every detour that has an interval: it would only repeat itself in every combination.
  if (kind != Kind::overhead) note_source(sources_.gap(kind));
}

void LedgerCounter::count(const Ledger& ledger) {
  DetourSums sums;
  sums.duration_ns = ledger.detour.end_ns - ledger.detour.start_ns;
  sums.explained_ns = ledger.explained_ns;
  sums.overhead_ns = ledger.overhead_ns;
  sums.hypervisor_ns = ledger.hypervisor_ns;
  sums.hardware_ns = ledger.outside_ns - ledger.hypervisor_ns;
  sums.unexplained_ns = ledger.unexplained_ns;
  sums.incomplete = ledger.detour.in_doubt;
  statistics_.add_detour(sums);

  ++detour_number_;
  combination_.clear();
  for (const LedgerEntry& entry : ledger.entries) {
    statistics_.add_source(entry.source, entry.kind, entry.self_ns);
    note_source(entry.source);
  }
  count_gap(Kind::overhead, sums.overhead_ns);
  count_gap(Kind::hypervisor, sums.hypervisor_ns);
  count_gap(Kind::hardware, sums.hardware_ns);
  count_gap(Kind::unexplained, sums.unexplained_ns);
  statistics_.add_combination(combination_, sums.duration_ns);
}

}  // namespace noised
