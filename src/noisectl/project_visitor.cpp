// SPDX-License-Identifier: Apache-2.0
#include "noisectl/project_visitor.h"

#include <algorithm>

namespace noised::client {

void ObservedVisitor::open(std::size_t cpu, std::uint64_t first_ns) {
  Seen& seen = cpus_[cpu];
  seen.open = true;
  seen.first_ns = seen.last_ns = std::max(first_ns, seen.last_ns);
  begin_stretch(cpu, seen.first_ns);
}

void ObservedVisitor::close(std::size_t cpu, std::uint64_t last_ns) {
  Seen& seen = cpus_[cpu];
  if (!seen.open) return;
  seen.open = false;
  seen.last_ns = std::max(seen.last_ns, last_ns);
  seen.observed_ns += seen.last_ns - seen.first_ns;
  end_stretch(cpu, seen.last_ns);
}

void ObservedVisitor::begins(std::size_t cpu, std::uint64_t first_ns) {
  Seen& seen = cpus_[cpu];
  if (seen.begun) {  // a new part: what it is the first to tell, opens it
    close(cpu, seen.last_ns);
    seen.parts = true;
    return;
  }
  seen.begun = true;
  open(cpu, playback_.recorded_from(cpu, first_ns));
}

void ObservedVisitor::detour(std::size_t cpu, const Ledger& ledger, std::string_view /*details*/) {
  if (!cpus_[cpu].open) open(cpu, ledger.detour.start_ns);
  add(cpu, ledger);
  cpus_[cpu].last_ns = std::max(cpus_[cpu].last_ns, ledger.detour.end_ns);
}

void ObservedVisitor::gap(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) {
  close(cpu, start_ns);
  open(cpu, end_ns);
}

void ObservedVisitor::sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t /*iterations*/) {
  Seen& seen = cpus_[cpu];
  if (seen.open) seen.last_ns = std::max(seen.last_ns, end_ns);
}

// As long as the counts say that it was observed, but not beyond the last time that they were taken.
std::uint64_t ObservedVisitor::end_of(std::size_t cpu) const {
  const Seen& seen = cpus_[cpu];
  const Counts& counts = playback_.counts();
  const std::uint64_t known_ns = seen.observed_ns + (seen.last_ns - seen.first_ns);
  const std::uint64_t observed_ns = counts.cpus[cpu].observed_ns;
  if (seen.parts || observed_ns <= known_ns || counts.clock.monotonic_ns <= seen.last_ns) return seen.last_ns;
  return seen.last_ns + std::min(observed_ns - known_ns, counts.clock.monotonic_ns - seen.last_ns);
}

void ObservedVisitor::finish() {
  for (std::size_t cpu = 0; cpu < cpus_.size(); ++cpu) {
    if (cpus_[cpu].open) close(cpu, end_of(cpu));
  }
}

void ObservedTotals::end_stretch(std::size_t cpu, std::uint64_t last_ns) {
  Total& total = cpus_[cpu];
  total.observed_ns += last_ns - total.first_ns;
  total.longest_ns = std::max(total.longest_ns, last_ns - total.first_ns);
}

PhasesVisitor::PhasesVisitor(const Playback& playback, const ObservedTotals& totals, std::uint64_t grain_ns,
                             std::span<const RemovableSource> sources)
    : ObservedVisitor(playback) {
  for (std::size_t cpu = 0; cpu < cpus(); ++cpu)
    cpus_.push_back(std::make_unique<CpuPhases>(grain_ns, totals.observed_ns(cpu), sources));
}

views::ProjectionView projection_of(ProjectionInput input, const ObservedTotals& totals, const PhasesVisitor& phases,
                                    const Playback& playback) {
  views::ProjectionView view;
  for (std::size_t cpu = 0; cpu < playback.description().base.cpus.size(); ++cpu) {
    input.cpus.push_back({playback.cpu_number(cpu), totals.observed_ns(cpu), &phases.phases(cpu)});
    view.longest_stretch_ns = std::max(view.longest_stretch_ns, totals.longest_ns(cpu));
  }
  view.projection = project(input);
  view.all_sources = totals.sources().timed(playback.sources());
  view.untimed = totals.sources().untimed(playback.sources());
  return view;
}

}  // namespace noised::client
