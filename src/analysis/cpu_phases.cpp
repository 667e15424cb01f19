// SPDX-License-Identifier: Apache-2.0
#include "analysis/cpu_phases.h"

#include <algorithm>

namespace noised {

CpuPhases::CpuPhases(std::uint64_t grain_ns, std::uint64_t observed_ns, std::span<const RemovableSource> sources)
    : gone_ns_(kWaiting * sources.size()) {
  for (const RemovableSource& source : sources) {
    if (source.id >= numbers_.size()) numbers_.resize(source.id + 1, SIZE_MAX);
    numbers_[source.id] = kinds_.size();
    kinds_.push_back(source.kind);
  }
  for (std::size_t i = 0; i <= sources.size(); ++i) sliders_.push_back(std::make_unique<Slider>(grain_ns, observed_ns));
  waiting_.reserve(kWaiting);
}

void CpuPhases::begin(std::uint64_t first_ns) {
  for (const auto& slider : sliders_) slider->phases.begin(first_ns);
}

void CpuPhases::end(std::uint64_t last_ns) {
  slide();
  for (const auto& slider : sliders_) slider->phases.end(last_ns);
}

void CpuPhases::find_gone(const Ledger& ledger, std::uint64_t* gone_ns) {
  std::fill_n(gone_ns, kinds_.size(), 0);
  removal_.look_at(ledger);
  for (const LedgerEntry& entry : ledger.entries) {
    if (entry.source >= numbers_.size() || numbers_[entry.source] == SIZE_MAX) continue;
    std::uint64_t& gone = gone_ns[numbers_[entry.source]];
    if (gone == 0) gone = removal_.without(entry.source);
  }
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (kinds_[i] == Kind::hypervisor) gone_ns[i] = ledger.hypervisor_ns;
    if (kinds_[i] == Kind::hardware) gone_ns[i] = ledger.outside_ns - ledger.hypervisor_ns;
  }
}

void CpuPhases::slide() {
  const std::size_t sources = kinds_.size();
  for (const Detour& detour : waiting_) sliders_.front()->phases.detour(detour.start_ns, detour.end_ns);
  for (std::size_t i = 0; i < sources; ++i) {
    SlidingPhases& phases = sliders_[i + 1]->phases;
    for (std::size_t at = 0; at < waiting_.size(); ++at)
      phases.detour(waiting_[at].start_ns, waiting_[at].end_ns - gone_ns_[at * sources + i]);
  }
  waiting_.clear();
}

void CpuPhases::add(const Ledger& ledger) {
  if (!kinds_.empty()) find_gone(ledger, &gone_ns_[waiting_.size() * kinds_.size()]);
  waiting_.push_back(ledger.detour);
  if (waiting_.size() == kWaiting) slide();
}

}  // namespace noised
