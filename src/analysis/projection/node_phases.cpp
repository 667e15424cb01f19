// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/node_phases.h"

#include <algorithm>
#include <cmath>

namespace noised::analysis {

NodePhases::NodePhases(std::uint64_t grain_ns, std::span<const std::uint64_t> observed_ns,
                       std::uint64_t all_observed_ns, std::span<const RemovableSource> sources, AfterCosts* after)
    : after_(after), waiting_(observed_ns.size()) {
  for (const RemovableSource& source : sources) {
    if (source.id >= numbers_.size()) numbers_.resize(source.id + 1, SIZE_MAX);
    numbers_[source.id] = kinds_.size();
    kinds_.push_back(source.kind);
  }
  const std::size_t most = std::min(JointPhases::kMostWaiting, kMostWaiting / (sources.size() + 1));
  for (std::size_t i = 0; i <= sources.size(); ++i)
    phases_.push_back(std::make_unique<JointPhases>(grain_ns, observed_ns, all_observed_ns, most));
  for (Waiting& waiting : waiting_) {
    waiting.detours.reserve(kTogether);
    waiting.gone_ns.resize(kTogether * sources.size());
  }
}

void NodePhases::begin(std::size_t cpu, std::uint64_t first_ns) {
  for (const auto& phases : phases_) phases->begin(cpu, first_ns);
}

void NodePhases::end(std::size_t cpu, std::uint64_t last_ns) {
  slide(cpu);
  for (const auto& phases : phases_) phases->end(cpu, last_ns);
}

void NodePhases::find_gone(const account::DetourLedger& ledger, std::uint64_t* gone_ns) {
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

// Of what goes with a source only its own activations are told apart here.
void NodePhases::add_after(const account::DetourLedger& ledger, std::uint64_t after_ns, std::uint64_t* gone_ns) {
  own_after_.assign(kinds_.size(), 0);
  double sum_ns = 0;
  for (const account::LedgerEntry& entry : ledger.entries) {
    const double own_ns = after_->of(entry.source);
    sum_ns += own_ns;
    if (entry.source < numbers_.size() && numbers_[entry.source] != SIZE_MAX)
      own_after_[numbers_[entry.source]] += own_ns;
  }
  const std::uint64_t most_ns = ledger.detour.end_ns - ledger.detour.start_ns + after_ns;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    const double left_ns = std::max(sum_ns - own_after_[i], 0.0);
    const std::uint64_t rest_ns = std::min(static_cast<std::uint64_t>(std::llround(left_ns)), after_ns);
    if (own_after_[i] != 0) gone_ns[i] = std::min(gone_ns[i] + (after_ns - rest_ns), most_ns);
  }
}

void NodePhases::slide(std::size_t cpu) {
  const std::size_t sources = kinds_.size();
  Waiting& waiting = waiting_[cpu];
  for (const Detour& detour : waiting.detours) phases_.front()->detour(cpu, detour.start_ns, detour.end_ns);
  for (std::size_t i = 0; i < sources; ++i) {
    JointPhases& phases = *phases_[i + 1];
    for (std::size_t at = 0; at < waiting.detours.size(); ++at) {
      const Detour& detour = waiting.detours[at];
      phases.detour(cpu, detour.start_ns, detour.end_ns - waiting.gone_ns[at * sources + i]);
    }
  }
  waiting.detours.clear();
}

void NodePhases::add(std::size_t cpu, const account::DetourLedger& ledger) {
  Waiting& waiting = waiting_[cpu];
  std::uint64_t* const gone_ns = kinds_.empty() ? nullptr : &waiting.gone_ns[waiting.detours.size() * kinds_.size()];
  if (gone_ns != nullptr) find_gone(ledger, gone_ns);
  Detour detour = ledger.detour;
  if (after_ != nullptr) {
    const std::uint64_t after_ns = after_->take(ledger);
    detour.end_ns += after_ns;
    if (gone_ns != nullptr) add_after(ledger, after_ns, gone_ns);
  }
  waiting.detours.push_back(detour);
  if (waiting.detours.size() < kTogether) return;
  // Of all CPUs, for the others wait for one that has few.
  for (std::size_t each = 0; each < waiting_.size(); ++each) slide(each);
}

}  // namespace noised::analysis
