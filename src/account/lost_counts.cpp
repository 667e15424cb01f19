// SPDX-License-Identifier: Apache-2.0
// Counting what was lost and placing it in time.
#include "account/lost_counts.h"

#include <algorithm>

namespace noised::account {
namespace {

bool any_within(const std::vector<std::uint64_t>& times, const Detour& detour) {
  const auto first = std::lower_bound(times.begin(), times.end(), detour.start_ns);
  return first != times.end() && *first <= detour.end_ns;
}

}  // namespace

void add_loss(std::optional<unsigned> cpu, const char* reason, std::uint64_t count, ReportLost& lost) {
  if (count != 0) lost.by.push_back(ReportLoss{cpu, reason, count});
}

void add_losses(unsigned cpu, const LossCounts& counts, ReportLost& lost) {
  const system::LostCounters& kernel = counts.kernel;
  lost.events += kernel.full + kernel.nmi + kernel.depth + counts.bad + counts.refused + counts.blind;
  lost.detours += counts.detours + counts.impossible;
  lost.unpaired += kernel.unpaired + kernel.unseen;
  add_loss(cpu, "ring_full", kernel.full, lost);
  add_loss(cpu, "ring_busy_in_nmi", kernel.nmi, lost);
  add_loss(cpu, "stack_full", kernel.depth, lost);
  add_loss(cpu, "bad_record", counts.bad, lost);
  add_loss(cpu, "unfinished_record", kernel.unfinished, lost);
  add_loss(cpu, "pipeline_full", counts.refused, lost);
  add_loss(cpu, "detour_ring_full", counts.detours, lost);
  add_loss(cpu, "clock_backward", counts.impossible, lost);
  add_loss(cpu, "clock_uncertain", counts.uncertain, lost);
  add_loss(cpu, "unpaired", kernel.unpaired, lost);
  add_loss(cpu, "unseen_switch", kernel.unseen, lost);
  add_loss(cpu, "loop_stopped", counts.stopped, lost);
  add_loss(cpu, "loop_moved", counts.moved, lost);
  add_loss(cpu, "sample_ring_full", counts.samples, lost);
  add_loss(cpu, kBlind, counts.blind, lost);
}

void DoubtfulTimes::look(bool lost, std::uint64_t began_ns, std::uint64_t ended_ns) {
  if (lost) {
    if (until_ns_ < looked_ns_) from_ns_ = looked_ns_;
    until_ns_ = ended_ns;
  }
  looked_ns_ = began_ns;
}

void DoubtfulTimes::reach_back(std::uint64_t since_ns) { from_ns_ = std::min(from_ns_, since_ns); }

bool DoubtfulTimes::touch(const Detour& detour) const {
  return (detour.end_ns >= from_ns_ && detour.start_ns <= until_ns_) || any_within(unseen_ns_, detour);
}

bool DoubtfulTimes::take_stopped(const Detour& detour) {
  const bool stopped = any_within(stopped_ns_, detour);
  std::erase_if(stopped_ns_, [&](std::uint64_t ns) { return ns <= detour.end_ns; });
  return stopped;
}

}  // namespace noised::account
