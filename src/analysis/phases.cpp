// SPDX-License-Identifier: Apache-2.0
// One pass over each ledger.
#include "analysis/phases.h"

#include <algorithm>

namespace noised {

void PhaseSeries::begin() {
  if (!ended_) return;
  ended_ = false;
  std::vector<PhaseSource> sources = std::move(phase_.sources);
  sources.clear();
  phase_ = Phase{};
  phase_.sources = std::move(sources);
}

// A phase has few sources: the place is found by looking at all of them.
PhaseSource& PhaseSeries::source(SourceId id) {
  const auto found = std::find_if(phase_.sources.begin(), phase_.sources.end(),
                                  [id](const PhaseSource& each) { return each.source >= id; });
  if (found != phase_.sources.end() && found->source == id) return *found;
  return *phase_.sources.insert(found, PhaseSource{id, 0, 0, 0});
}

void PhaseSeries::add(const Ledger& ledger) {
  begin();
  phase_.detour_ns += ledger.detour.end_ns - ledger.detour.start_ns;
  const std::array<std::uint64_t, kGaps.size()> gaps{ledger.overhead_ns, ledger.hypervisor_ns,
                                                     ledger.outside_ns - ledger.hypervisor_ns, ledger.unexplained_ns};
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    phase_.gaps[i].activations += gaps[i] == 0 ? 0 : 1;
    phase_.gaps[i].self_ns += gaps[i];
  }
  phase_.in_doubt |= ledger.detour.in_doubt;
  std::optional<std::uint8_t> task_depth;  // of the task that has the CPU
  for (const LedgerEntry& entry : ledger.entries) {
    if (task_depth && entry.depth <= *task_depth) task_depth.reset();
    PhaseSource& of = source(entry.source);
    ++of.activations;
    of.self_ns += entry.self_ns;
    of.interruptions += task_depth && entry.kind != Kind::work ? 0U : 1U;
    if (!task_depth && entry.kind == Kind::task) task_depth = entry.depth;
  }
}

bool PhaseSeries::sample(std::uint64_t end_ns, std::uint64_t iterations) {
  begin();
  const bool whole = start_ns_.has_value() && iterations != 0 && end_ns > *start_ns_;
  phase_.start_ns = start_ns_.value_or(end_ns);
  phase_.end_ns = end_ns;
  phase_.iterations = iterations;
  phase_.in_doubt |= whole && phase_.detour_ns > phase_.length_ns();
  start_ns_ = end_ns;
  ended_ = true;
  return whole;
}

}  // namespace noised
