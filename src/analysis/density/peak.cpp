// SPDX-License-Identifier: Apache-2.0
// The same sources and combinations as those of the report (account/loop_cpu.cpp), but only in the range.
#include "analysis/density/peak.h"

#include <algorithm>

namespace noised::analysis {

void Neighbours::add(std::uint64_t value_ns, std::uint64_t low_ns, std::uint64_t high_ns) {
  if (value_ns < low_ns) below_ns = std::max(below_ns.value_or(0), value_ns);
  if (value_ns > high_ns) above_ns = std::min(above_ns.value_or(UINT64_MAX), value_ns);
}

void PeakCounter::note_source(SourceId source) {
  if (std::find(combination_.begin(), combination_.end(), source) == combination_.end()) combination_.push_back(source);
}

void PeakCounter::add_self_time(SourceId source, std::uint64_t self_ns) {
  next_self_times_.add(self_ns, low_ns_, high_ns_);
  if (self_ns < low_ns_ || self_ns > high_ns_) return;
  if (source >= counts_.size()) counts_.resize(std::size_t{source} + 1);
  counts_[source].add(self_ns);
}

void PeakCounter::add_fault(SourceId source, std::uint64_t self_ns) {
  if (source >= faults_.size()) faults_.resize(std::size_t{source} + 1);
  if (self_ns == 0) {
    faults_[source].instants.add(0);
  } else {
    faults_[source].timed = true;
    add_self_time(source, self_ns);
  }
}

void PeakCounter::add(const account::DetourLedger& ledger) {
  const std::uint64_t duration_ns = ledger.detour.end_ns - ledger.detour.start_ns;
  const bool inside = duration_ns >= low_ns_ && duration_ns <= high_ns_;
  combination_.clear();
  for (const account::LedgerEntry& entry : ledger.entries) {
    if (entry.kind == Kind::page_fault) {
      add_fault(entry.source, entry.self_ns);
    } else {
      add_self_time(entry.source, entry.self_ns);
    }
    if (inside) note_source(entry.source);
  }
  ledger.for_each_gap([&](Kind kind, std::uint64_t ns) {
    add_self_time(sources_.gap(kind), ns);
    if (kind != Kind::overhead) note_source(sources_.gap(kind));
  });
  next_detours_.add(duration_ns, low_ns_, high_ns_);
  if (!inside) return;
  detours_.add(duration_ns);
  combinations_.add(combination_, duration_ns);
}

std::vector<PeakCounter::SourceCount> PeakCounter::source_counts() const {
  std::vector<SourceCount> counts;
  for (SourceId id = 0; id < std::max(counts_.size(), faults_.size()); ++id) {
    SourceCount each{id, id < counts_.size() ? counts_[id] : Moments()};
    if (low_ns_ == 0 && id < faults_.size() && faults_[id].timed) each.moments.merge(faults_[id].instants);
    if (each.moments.count() != 0) counts.push_back(each);
  }
  return counts;
}

std::vector<PeakCounter::SourceCount> PeakCounter::untimed() const {
  std::vector<SourceCount> counts;
  for (SourceId id = 0; id < faults_.size(); ++id) {
    if (!faults_[id].timed && faults_[id].instants.count() != 0) counts.push_back({id, faults_[id].instants});
  }
  return counts;
}

Neighbours PeakCounter::next_self_times() const {
  Neighbours next = next_self_times_;
  for (const Faults& faults : faults_) {
    if (faults.timed && faults.instants.count() != 0) next.add(0, low_ns_, high_ns_);
  }
  return next;
}

}  // namespace noised::analysis
