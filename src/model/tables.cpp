// SPDX-License-Identifier: Apache-2.0
// How a detour, its sources and their combination enter the tables of a CPU.
#include "statistics/tables.h"

#include <algorithm>
#include <cassert>

#include "statistics/saturating.h"

namespace noised {

bool DetourSums::adds_up() const {
  std::uint64_t rest = duration_ns;
  for (const std::uint64_t part : {explained_ns, overhead_ns, hypervisor_ns, hardware_ns, unexplained_ns}) {
    if (part > rest) return false;
    rest -= part;
  }
  return rest == 0;
}

void CpuStatistics::add_detour(const DetourSums& sums) {
  assert(sums.adds_up());
  const auto add = [](std::uint64_t& total, std::uint64_t amount) { total = saturating_add(total, amount); };
  add(totals_.detours, 1);
  add(totals_.incomplete_detours, sums.incomplete ? 1 : 0);
  add(totals_.detour_ns, sums.duration_ns);
  add(totals_.explained_ns, sums.explained_ns);
  add(totals_.overhead_ns, sums.overhead_ns);
  add(totals_.hypervisor_ns, sums.hypervisor_ns);
  add(totals_.hardware_ns, sums.hardware_ns);
  add(totals_.unexplained_ns, sums.unexplained_ns);
  totals_.max_detour_ns = std::max(totals_.max_detour_ns, sums.duration_ns);
  detours_.add(sums.duration_ns);
}

void CpuStatistics::add_source(SourceId id, Kind kind, std::uint64_t self_ns) {
  assert(id != kOtherSource);
  if (id >= sources_.size()) sources_.resize(std::size_t{id} + 1);
  SourceStatistics& source = sources_[id].get_or_make();
  assert(source.moments.count() == 0 || source.kind == kind);
  source.id = id;
  source.kind = kind;
  source.moments.add(self_ns);
  source.histogram.add(self_ns);
}

void CpuStatistics::add_combination(std::span<const SourceId> ordered_unique, std::uint64_t detour_ns) {
  combinations_.add(ordered_unique, detour_ns);
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
    if (source == nullptr) continue;
    SourceStatistics& copy = other.sources_[i].get_or_make();
    copy.id = source->id;
    copy.kind = source->kind;
    copy.moments = source->moments;
  }
}

}  // namespace noised
