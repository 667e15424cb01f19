// SPDX-License-Identifier: Apache-2.0
// Match, attribute, count. About 210 ns a detour with 3.6 intervals (tests/bench/run pipeline).
#include "pipeline/watched_cpu.h"

namespace noised {

WatchedCpu::WatchedCpu(const WatchOptions& options, const SourceTable& sources)
    : options_(options),
      sources_(sources),
      matcher_(options.threshold_ns, options.held_intervals),
      steal_(options.steal_step_ns),
      seen_in_(SourceTable::kCapacity, 0) {
  combination_.reserve(SourceTable::kCapacity);
}

const Ledger& WatchedCpu::add(const Detour& detour, std::uint64_t tolerance_ns) {
  const Matcher::Match match = matcher_.take(detour, tolerance_ns);
  Detour judged = detour;
  // An interval that is partly outside says that one of the two clocks, or one of the two streams, is wrong.
  judged.in_doubt |= match.partial;
  attributor_.attribute(judged, match.intervals, bounds_, ledger_);
  if (!judged.in_doubt) {
    for (const Gap& gap : ledger_.gaps) bounds_.learn(gap);
  }
  divide_outside();
  count(ledger_);
  return ledger_;
}

const Ledger* WatchedCpu::add_recorded(const Detour& detour, std::uint64_t tolerance_ns, const Division& division) {
  const Matcher::Match match = matcher_.take(detour, tolerance_ns);
  attributor_.attribute(detour, match.intervals, bounds_, ledger_);
  const DetourSums sums{detour.end_ns - detour.start_ns,
                        ledger_.explained_ns,
                        division.overhead_ns,
                        division.hypervisor_ns,
                        division.hardware_ns,
                        division.unexplained_ns,
                        detour.in_doubt};
  if (!sums.adds_up()) return nullptr;
  ledger_.overhead_ns = division.overhead_ns;
  ledger_.hypervisor_ns = division.hypervisor_ns;
  ledger_.outside_ns = division.hypervisor_ns + division.hardware_ns;
  ledger_.unexplained_ns = division.unexplained_ns;
  count(ledger_);
  return &ledger_;
}

void WatchedCpu::skip(const Detour& blind) {
  blind_ns_ += blind.end_ns - blind.start_ns;
  matcher_.skip(blind.end_ns);
}

void WatchedCpu::rest(const Detour& rested) {
  rested_ns_ += rested.end_ns - rested.start_ns;
  matcher_.skip(rested.end_ns);
}

void WatchedCpu::divide_outside() {
  if (options_.outside == Kind::hypervisor) {
    ledger_.hypervisor_ns = options_.steal_step_ns == 0 ? ledger_.outside_ns : steal_.cover(ledger_.outside_ns);
  }
}

void WatchedCpu::note_source(SourceId source) {
  if (seen_in_[source] == detour_number_) return;
  seen_in_[source] = detour_number_;
  combination_.push_back(source);
}

void WatchedCpu::count_gap(Kind kind, std::uint64_t ns) {
  if (ns == 0) return;
  statistics_.add_source(sources_.gap(kind), kind, ns);
  // Overhead is in every detour that has an interval: it would only repeat itself in every combination.
  if (kind != Kind::overhead) note_source(sources_.gap(kind));
}

void WatchedCpu::count(const Ledger& ledger) {
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
