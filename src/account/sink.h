// SPDX-License-Identifier: Apache-2.0
// Who takes everything that flows through the pipeline, as it does, to keep it.
#pragma once

#include "model/types.h"

#include <cstddef>
#include <cstdint>

#include "account/attributor.h"
#include "account/detour_feed.h"
#include "account/snapshot.h"
#include "account/steal_marks.h"
#include "account/task_run.h"
#include "probe/detour_ring.h"

namespace noised::account {

/// CPUs are told by their place in Snapshot::cpus. Called on the pipeline's thread: must not wait.
class PipelineSink {
 public:
  PipelineSink() = default;
  PipelineSink(const PipelineSink&) = delete;
  PipelineSink& operator=(const PipelineSink&) = delete;
  virtual ~PipelineSink() = default;

  /// The loop observes from this time on.
  virtual void begins(std::size_t cpu, std::uint64_t first_ns) = 0;
  /// The interval that ended next.
  virtual void interval(std::size_t cpu, const Interval& interval) = 0;
  /// An interval that ended before the sink was there, of a detour that it will be told of.
  virtual void waits(std::size_t cpu, const Interval& interval) = 0;
  /// The next detour, all of whose intervals were told; `shown` has the details of its entries.
  virtual void detour(std::size_t cpu, const DetourLedger& ledger, std::uint64_t tolerance_ns,
                      const FeedDetour& shown) = 0;
  /// The next gap that was not observed (moved: also where the loop was stopped).
  virtual void gap(std::size_t cpu, probe::GapKind kind, const Detour& gap) = 0;
  /// The loop did so many iterations from the sample before it until then; 0: the first of a series.
  virtual void sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t iterations) = 0;
  /// Some of this time was stolen; before the first detour that begins after it.
  virtual void stolen(std::size_t cpu, const StealWindow& window) = 0;
  /// A watched task lost time there; `shown` has the details of the ledger's entries. Losses of a task neither overlap
  /// nor come in order: a wait is told when the run after it has ended. Those of several tasks overlap.
  virtual void loss(std::size_t cpu, const Loss& loss, const DetourLedger& ledger, const FeedDetour& shown) = 0;
  /// A watched task left the CPU; all that it lost until then was told.
  virtual void ran(std::size_t cpu, const TaskRun& run, const RunFacts& facts) = 0;
};

/// What can be recorded: the pipeline, or what takes its place in tests.
class Recordable {
 public:
  Recordable() = default;
  Recordable(const Recordable&) = delete;
  Recordable& operator=(const Recordable&) = delete;
  virtual ~Recordable() = default;

  /// Copies as much as the snapshot wants of what was counted.
  virtual void fill(Snapshot& snapshot) const = 0;
  /// From the next drain on, everything is told to this sink too (nullptr: to none); at once, what it has to know of
  /// the drains before.
  virtual void record_to(PipelineSink* sink) = 0;
};

}  // namespace noised::account
