// SPDX-License-Identifier: Apache-2.0
// A run is told after what was lost in it, and its wait after that: the records are sorted when all are there.
#include "export/paraver_tasks.h"

#include <algorithm>

namespace noised {

void ParaverTasks::add(ParaverRecord record, std::size_t row, std::size_t cpu) {
  record.row = static_cast<std::uint32_t>(row);
  record.cpu = static_cast<std::uint32_t>(cpu);
  good_ = records_.add(record);
}

void ParaverTasks::loss(std::size_t cpu, const Loss& loss, const Ledger& ledger, std::string_view /*details*/) {
  const std::size_t row = rows_.lost(loss);
  const Detour& detour = ledger.detour;
  ParaverTimeline one(sources_, [&](const ParaverRecord& record) { add(record, row, cpu); });
  one.detour(ledger);
  add({detour.start_ns, 0, static_cast<std::uint64_t>(loss.kind) + 1, kEventLoss}, row, cpu);
  if (loss.waited_ns != 0) add({detour.start_ns, 0, loss.waited_ns, kEventWaited}, row, cpu);
  Held& held = held_[{row, cpu}];
  held.push_back({detour.start_ns, detour.end_ns});
  if (held.size() >= kMostHeld) draw_older(row, cpu, held);
}

// Nothing but one run has so many without a word of its end.
void ParaverTasks::draw_older(std::size_t row, std::size_t cpu, Held& held) {
  std::ranges::sort(held, {}, &Span::start_ns);
  const std::size_t half = held.size() / 2;
  std::uint64_t at_ns = held.front().end_ns;
  for (std::size_t i = 1; i <= half; ++i) {
    if (held[i].start_ns > at_ns) add({at_ns, held[i].start_ns, kStateUndisturbed, 0}, row, cpu);
    at_ns = std::max(at_ns, held[i].end_ns);
  }
  // The first stays, for the time before it, and stands for all of them.
  held[0].end_ns = at_ns;
  held.erase(held.begin() + 1, held.begin() + static_cast<std::ptrdiff_t>(half) + 1);
}

void ParaverTasks::draw_run(std::size_t row, std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) {
  std::uint64_t at_ns = start_ns;
  if (const auto found = held_.find({row, cpu}); found != held_.end()) {
    Held& held = found->second;
    std::ranges::sort(held, {}, &Span::start_ns);
    const auto after = std::ranges::partition_point(held, [&](const Span& each) { return each.start_ns < end_ns; });
    for (auto each = held.begin(); each != after; ++each) {
      if (each->start_ns > at_ns) add({at_ns, each->start_ns, kStateUndisturbed, 0}, row, cpu);
      at_ns = std::max(at_ns, each->end_ns);
    }
    held.erase(held.begin(), after);
    if (held.empty()) held_.erase(found);
  }
  if (at_ns < end_ns) add({at_ns, end_ns, kStateUndisturbed, 0}, row, cpu);
}

void ParaverTasks::ran(std::size_t cpu, const TaskRun& run, const RunFacts& /*facts*/) {
  draw_run(rows_.ran(run), cpu, run.start_ns, run.end_ns);
}

void ParaverTasks::finish(const Playback& playback) {
  for (const RunningTask& each : playback.running())
    draw_run(rows_.of(each.task.pid), each.cpu, each.task.start_ns, each.until_ns);
}

}  // namespace noised
