// SPDX-License-Identifier: Apache-2.0
// How a detour, its sources and their combination enter the tables of a CPU.
#include "model/tables.h"

#include <algorithm>
#include <cassert>

#include "base/saturating.h"

namespace noised {

void DetourTotals::add(const Detour& detour, const Ledger& ledger) {
  const std::uint64_t duration_ns = detour.end_ns - detour.start_ns;
  assert(ledger.adds_up_to(duration_ns));
  DetourTotals one;
  one.set_parts(ledger);
  one.detours = 1;
  one.incomplete_detours = detour.in_doubt ? 1 : 0;
  one.detour_ns = one.max_detour_ns = duration_ns;
  merge(one);
}

void DetourTotals::merge(const DetourTotals& other) {
  *this += other;
  detours = saturating_add(detours, other.detours);
  incomplete_detours = saturating_add(incomplete_detours, other.incomplete_detours);
  detour_ns = saturating_add(detour_ns, other.detour_ns);
  max_detour_ns = std::max(max_detour_ns, other.max_detour_ns);
}

void CpuStatistics::add_detour(const Detour& detour, const Ledger& ledger) {
  totals_.add(detour, ledger);
  detours_.add(detour.end_ns - detour.start_ns);
}

SourceStatistics& CpuStatistics::row(SourceId id, Kind kind) {
  assert(id != kOtherSource);
  const std::size_t slot = SourceTable::slot_of(id);
  if (slot >= sources_.size()) sources_.resize(slot + 1);
  SourceStatistics& source = sources_[slot].get_or_make();
  assert(source.moments.count() == 0 || (source.id == id && source.kind == kind));
  source.id = id;
  source.kind = kind;
  return source;
}

void CpuStatistics::add_source(SourceId id, Kind kind, std::uint64_t self_ns, std::uint32_t pid) {
  SourceStatistics& source = row(id, kind);
  if (source.moments.count() == 0) source.pid = pid;
  if (source.pid != pid) {
    source.several = true;
    source.pid = 0;
  }
  if (source.several) source.pid = 0;
  source.moments.add(self_ns);
  source.histogram.add(self_ns);
}

void CpuStatistics::add_stolen(SourceId id, std::uint64_t stolen_ns, bool again) {
  assert(this->source(id) != nullptr);
  SourceStatistics& source = sources_[SourceTable::slot_of(id)].get_or_make();
  source.stretched += again ? 0 : 1;
  source.stolen_ns = saturating_add(source.stolen_ns, stolen_ns);
}

void CpuStatistics::add_combination(std::span<const SourceId> ordered_unique, std::uint64_t detour_ns) {
  combinations_.add(ordered_unique, detour_ns);
}

void CpuStatistics::let_go(const Departures& departures) {
  bool any = false;
  for (const Departure& departure : departures.all()) {
    const SourceStatistics* const from = source(departure.from);
    if (from == nullptr) continue;
    any = true;
    SourceStatistics& into = row(departure.into, from->kind);
    into.stretched = saturating_add(into.stretched, from->stretched);
    into.stolen_ns = saturating_add(into.stolen_ns, from->stolen_ns);
    into.pid = 0;
    into.several = true;
    into.moments.merge(from->moments);
    into.histogram.merge(from->histogram);
    sources_[SourceTable::slot_of(departure.from)].reset();
  }
  // Whoever is in a combination here was counted here.
  if (any) combinations_.let_go(departures);
}

void CpuStatistics::copy_to(CpuStatistics& other) const {
  // Grown first, the vector keeps the sources it holds; assignment alone would make all of them anew for one more.
  if (other.sources_.size() < sources_.size()) other.sources_.resize(sources_.size());
  other = *this;
}

void CpuStatistics::copy_summary_to(CpuStatistics& other) const {
  if (other.sources_.size() < sources_.size()) other.sources_.resize(sources_.size());
  other.totals_ = totals_;
  other.detours_ = detours_;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const SourceStatistics* const source = sources_[i].get();
    if (source == nullptr) {
      other.sources_[i].reset();
      continue;
    }
    SourceStatistics& copy = other.sources_[i].get_or_make();
    copy.id = source->id;
    copy.kind = source->kind;
    copy.stretched = source->stretched;
    copy.stolen_ns = source->stolen_ns;
    copy.pid = source->pid;
    copy.several = source->several;
    copy.moments = source->moments;
  }
}

}  // namespace noised
