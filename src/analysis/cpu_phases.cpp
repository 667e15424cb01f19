// SPDX-License-Identifier: Apache-2.0
#include "analysis/cpu_phases.h"

#include <algorithm>

namespace noised {

CpuPhases::CpuPhases(std::uint64_t grain_ns, std::uint64_t observed_ns, std::span<const RemovableSource> sources)
    : gone_ns_(sources.size()) {
  for (const RemovableSource& source : sources) {
    if (source.id >= numbers_.size()) numbers_.resize(source.id + 1, SIZE_MAX);
    numbers_[source.id] = kinds_.size();
    kinds_.push_back(source.kind);
  }
  for (std::size_t i = 0; i <= sources.size(); ++i) sliders_.push_back(std::make_unique<Slider>(grain_ns, observed_ns));
}

void CpuPhases::begin(std::uint64_t first_ns) {
  for (const auto& slider : sliders_) slider->phases.begin(first_ns);
}

void CpuPhases::end(std::uint64_t last_ns) {
  for (const auto& slider : sliders_) slider->phases.end(last_ns);
}

void CpuPhases::find_gone(const Ledger& ledger) {
  std::fill(gone_ns_.begin(), gone_ns_.end(), 0);
  removal_.look_at(ledger);
  for (const LedgerEntry& entry : ledger.entries) {
    if (entry.source >= numbers_.size() || numbers_[entry.source] == SIZE_MAX) continue;
    std::uint64_t& gone_ns = gone_ns_[numbers_[entry.source]];
    if (gone_ns == 0) gone_ns = removal_.without(entry.source);
  }
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (kinds_[i] == Kind::hypervisor) gone_ns_[i] = ledger.hypervisor_ns;
    if (kinds_[i] == Kind::hardware) gone_ns_[i] = ledger.outside_ns - ledger.hypervisor_ns;
  }
}

void CpuPhases::add(const Ledger& ledger) {
  const Detour& detour = ledger.detour;
  sliders_.front()->phases.detour(detour.start_ns, detour.end_ns);
  if (gone_ns_.empty()) return;
  find_gone(ledger);
  for (std::size_t i = 0; i < gone_ns_.size(); ++i)
    sliders_[i + 1]->phases.detour(detour.start_ns, detour.end_ns - gone_ns_[i]);
}

}  // namespace noised
