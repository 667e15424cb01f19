// SPDX-License-Identifier: Apache-2.0
#include "analysis/fixed_work/phase_analysis.h"

#include <algorithm>
#include <cmath>

namespace noised::analysis {

std::size_t phases_paying(std::uint64_t phase_ns, std::uint64_t iterations, std::uint64_t footprint_bytes) {
  constexpr double kLine = 64;
  constexpr double kRefillNs = 10'000;
  constexpr double kLeast = 0.05;
  constexpr double kMost = 4096;
  if (phase_ns == 0 || iterations == 0) return 0;
  const double walk = static_cast<double>(footprint_bytes) / kLine / static_cast<double>(iterations);
  const double phases = walk + kRefillNs / static_cast<double>(phase_ns);
  return phases < kLeast ? 0 : static_cast<std::size_t>(std::min(std::ceil(phases), kMost));
}

void PhaseAnalysis::count(SourceId id, const PhaseSource& source, bool whole) {
  if (source.activations == 0) return;
  if (id >= direct_.size()) direct_.resize(std::size_t{id} + 1);
  DirectCost& cost = direct_[id];
  (whole ? cost.count : cost.outside_count) += source.activations;
  (whole ? cost.self_ns : cost.outside_ns) += source.self_ns;
}

void PhaseAnalysis::count(bool whole) {
  const Phase& phase = series_.phase();
  for (const PhaseSource& each : phase.sources) count(each.source, each, whole);
  for (std::size_t i = 0; i < kGapKinds.size(); ++i) count(sources_.gap(kGapKinds[i]), phase.gaps[i], whole);
  waiting_ = false;
}

void PhaseAnalysis::add(const account::DetourLedger& ledger) {
  series_.add(ledger);
  waiting_ = true;
}

void PhaseAnalysis::interrupt() {
  series_.interrupt();
  episodes_.interrupt();
}

void PhaseAnalysis::sample(std::uint64_t end_ns, std::uint64_t iterations) {
  const bool whole = series_.sample(end_ns, iterations);
  count(whole);
  if (whole) {
    durations_.add(series_.phase().length_ns());
    episodes_.add(series_.phase());
  } else {
    episodes_.interrupt();
  }
}

void PhaseAnalysis::finish() {
  if (waiting_) count(false);
  episodes_.finish();
}

}  // namespace noised::analysis
