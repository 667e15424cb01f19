// SPDX-License-Identifier: Apache-2.0
// Who takes everything that flows through the pipeline, as it does, to keep it.
#pragma once

#include <noised/types.h>

#include <cstddef>
#include <cstdint>

#include "attribution/ledger.h"
#include "pipeline/detour_feed.h"
#include "pipeline/snapshot.h"
#include "probe/detour_ring.h"
#include "watch/task_run.h"

namespace noised {

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
  virtual void detour(std::size_t cpu, const Ledger& ledger, std::uint64_t tolerance_ns, const FeedDetour& shown) = 0;
  /// The next gap that was not observed (moved: also where the loop was stopped).
  virtual void gap(std::size_t cpu, GapKind kind, const Detour& gap) = 0;
  /// The loop did so many iterations from the sample before it until then; 0: the first of a series.
  virtual void sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t iterations) = 0;
  /// A watched task lost time there; `shown` has the details of the ledger's entries. Losses of a task neither overlap
  /// nor come in order: a wait is told when the run after it has ended. Those of several tasks overlap.
  virtual void loss(std::size_t cpu, const Loss& loss, const Ledger& ledger, const FeedDetour& shown) = 0;
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

}  // namespace noised
