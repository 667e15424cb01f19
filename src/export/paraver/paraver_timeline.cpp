// SPDX-License-Identifier: Apache-2.0
// The ledger has when each interval began and how much of the time was its own. That is enough to say whose each
// instant was: of those that began, the last one that has time of its own left.
#include "export/paraver/paraver_timeline.h"

#include <algorithm>

namespace noised::exports {

void ParaverTimeline::begin(std::uint64_t first_ns) {
  until_ns_ = std::max(until_ns_, first_ns);
  known_ = true;
}

// Overlapping states mean nothing in Paraver. Two detours overlap if the mapping of the clocks was corrected backwards
// between them: what the second has too many is told by an event.
void ParaverTimeline::state(std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t value) {
  begin_ns = std::max(begin_ns, until_ns_);
  if (end_ns <= begin_ns) return;
  add_({begin_ns, end_ns, value, 0});
}

void ParaverTimeline::event(std::uint64_t at_ns, std::uint32_t type, std::uint64_t value) {
  add_({std::max(at_ns, until_ns_), 0, value, type});
}

void ParaverTimeline::undisturbed(std::uint64_t until_ns) {
  if (known_) state(until_ns_, until_ns, kStateUndisturbed);
  known_ = true;
}

std::uint64_t ParaverTimeline::outside_of(const Ledger& ledger) const {
  std::uint64_t state = kStateOutside;
  unsigned parts = 0;
  ledger.for_each_gap([&](Kind kind, std::uint64_t /*ns*/) {
    ++parts;
    state = kStateOfSource + sources_.gap(kind);
  });
  return parts == 1 ? state : std::uint64_t{kStateOutside};
}

void ParaverTimeline::parts(const account::DetourLedger& ledger, std::uint64_t at_ns) {
  const auto part = [&](std::uint32_t type, std::uint64_t value) {
    if (value != 0) event(at_ns, type, value);
  };
  event(at_ns, kEventDetour, ledger.detour.end_ns - ledger.detour.start_ns);
  part(kEventExplained, ledger.explained_ns);
  part(kEventOverhead, ledger.overhead_ns);
  part(kEventHypervisor, ledger.hypervisor_ns);
  part(kEventHardware, ledger.hardware_ns);
  part(kEventUnexplained, ledger.unexplained_ns);
  part(kEventIncomplete, ledger.detour.in_doubt ? 1 : 0);
  part(kEventOverlap, until_ns_ > at_ns ? std::min(until_ns_, ledger.detour.end_ns) - at_ns : 0);
}

void ParaverTimeline::advance(std::uint64_t to_ns) {
  while (cursor_ns_ < to_ns) {
    while (!open_.empty() && open_.back().left_ns == 0) open_.pop_back();
    std::uint64_t until_ns = to_ns;
    std::uint64_t value = outside_;
    if (!open_.empty()) {
      Open& innermost = open_.back();
      const std::uint64_t own_ns = std::min(innermost.left_ns, to_ns - cursor_ns_);
      innermost.left_ns -= own_ns;
      until_ns = cursor_ns_ + own_ns;
      value = innermost.state;
    }
    state(cursor_ns_, until_ns, value);
    cursor_ns_ = until_ns;
  }
}

void ParaverTimeline::detour(const account::DetourLedger& ledger) {
  const Detour& detour = ledger.detour;
  undisturbed(detour.start_ns);
  parts(ledger, detour.start_ns);
  outside_ = outside_of(ledger);
  cursor_ns_ = detour.start_ns;
  open_.clear();
  for (const account::LedgerEntry& entry : ledger.entries) {
    advance(entry.start_ns);
    event(entry.start_ns, kEventInterval, kStateOfSource + entry.source);
    open_.push_back({kStateOfSource + entry.source, entry.self_ns});
  }
  advance(detour.end_ns);
  event(detour.end_ns, kEventDetour, 0);
  until_ns_ = std::max(until_ns_, detour.end_ns);
}

void ParaverTimeline::gap(std::uint64_t start_ns, std::uint64_t end_ns) {
  undisturbed(start_ns);
  state(start_ns, end_ns, kStateNotObserved);
  until_ns_ = std::max(until_ns_, end_ns);
}

}  // namespace noised::exports
