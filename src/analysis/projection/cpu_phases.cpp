// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/cpu_phases.h"

#include <algorithm>

namespace noised::analysis {

void ExcessBlocks::seek(std::uint64_t position_ns) {
  position_ns_ = position_ns;
  block_ = std::min<std::size_t>(position_ns / length_ns_, kBlocks - 1);
  block_end_ns_ = (block_ + 1) * length_ns_;
}

void ExcessBlocks::advance(std::uint64_t by_ns) {
  starts_ns_ += by_ns;
  position_ns_ += by_ns;
  if (block_ + 1 < kBlocks && position_ns_ >= block_end_ns_) {
    ++block_;
    block_end_ns_ += length_ns_;
  }
}

void ExcessBlocks::add_level(std::uint64_t excess_ns, std::uint64_t weight_ns) {
  while (weight_ns > 0) {
    const std::uint64_t part_ns = std::min(weight_ns, left_ns());
    blocks_[block_].add_level(excess_ns, part_ns);
    advance(part_ns);
    weight_ns -= part_ns;
  }
}

void ExcessBlocks::add_ramp(std::uint64_t low_ns, std::uint64_t high_ns) {
  while (high_ns > low_ns) {
    const std::uint64_t part_ns = std::min(high_ns - low_ns, left_ns());
    blocks_[block_].add_ramp(high_ns - part_ns, high_ns);
    advance(part_ns);
    high_ns -= part_ns;
  }
}

void SlidingPhases::begin(std::uint64_t first_ns) {
  first_ns_ = detours_end_ns_ = first_ns;
  noise_ns_ = start_work_ns_ = within_ns_ = 0;
  delays_.clear();
  excess_.seek(observed_before_ns_);
}

// The phase slides until so much work is done at its begin. All detours that it will meet on the way are in delays_,
// and none beyond: each was put there when the phase's end reached it.
void SlidingPhases::advance(std::uint64_t work_ns) {
  while (!delays_.empty() && delays_.front().work_ns <= work_ns) {
    const Delay first = delays_.front();
    delays_.pop_front();
    excess_.add_level(within_ns_, first.work_ns - start_work_ns_);
    start_work_ns_ = first.work_ns;
    within_ns_ -= first.length_ns;
    excess_.add_ramp(within_ns_, within_ns_ + first.length_ns);
  }
  excess_.add_level(within_ns_, work_ns - start_work_ns_);
  start_work_ns_ = work_ns;
}

void SlidingPhases::detour(std::uint64_t start_ns, std::uint64_t end_ns) {
  start_ns = std::max(start_ns, detours_end_ns_);
  if (end_ns <= start_ns) return;
  const std::uint64_t work_ns = start_ns - first_ns_ - noise_ns_;
  if (work_ns >= grain_ns_) advance(work_ns - grain_ns_);
  const std::uint64_t length_ns = end_ns - start_ns;
  if (!delays_.empty() && delays_.back().work_ns == work_ns) {
    delays_.back().length_ns += length_ns;
  } else {
    delays_.push_back({work_ns, length_ns});
  }
  within_ns_ += length_ns;
  noise_ns_ += length_ns;
  detours_end_ns_ = end_ns;
}

void SlidingPhases::end(std::uint64_t last_ns) {
  last_ns = std::max(last_ns, detours_end_ns_);
  const std::uint64_t work_ns = last_ns - first_ns_ - noise_ns_;
  if (work_ns >= grain_ns_) advance(work_ns - grain_ns_);
  observed_before_ns_ += last_ns - first_ns_;
  begin(last_ns);
}

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

void CpuPhases::find_gone(const account::DetourLedger& ledger, std::uint64_t* gone_ns) {
  std::fill_n(gone_ns, kinds_.size(), 0);
  removal_.look_at(ledger);
  for (const account::LedgerEntry& entry : ledger.entries) {
    if (entry.source >= numbers_.size() || numbers_[entry.source] == SIZE_MAX) continue;
    std::uint64_t& gone = gone_ns[numbers_[entry.source]];
    if (gone == 0) gone = removal_.without(entry.source);
  }
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (kinds_[i] == Kind::hypervisor || kinds_[i] == Kind::hardware) gone_ns[i] = ledger.gap_ns(kinds_[i]);
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

void CpuPhases::add(const account::DetourLedger& ledger) {
  if (!kinds_.empty()) find_gone(ledger, &gone_ns_[waiting_.size() * kinds_.size()]);
  waiting_.push_back(ledger.detour);
  if (waiting_.size() == kWaiting) slide();
}

}  // namespace noised::analysis
