// SPDX-License-Identifier: Apache-2.0
// Match, attribute, count. About 210 ns a detour with 3.6 intervals (tests/bench/run pipeline).
#include "pipeline/watched_cpu.h"

namespace noised {

WatchedCpu::WatchedCpu(const WatchOptions& options, const SourceTable& sources)
    : options_(options),
      matcher_(options.threshold_ns, options.held_intervals),
      steal_(options.steal_step_ns),
      counter_(sources) {}

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
  counter_.count(ledger_);
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
  counter_.count(ledger_);
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

}  // namespace noised
