// SPDX-License-Identifier: Apache-2.0
// Runs, waits and interruptions of tasks, put together from the scheduler's tracepoints alone: what src/ does, done
// again and otherwise, to compare.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ftrace.h"
#include "recount.h"

namespace noised::live {

/// The tracepoints that recount_tasks() understands, as Ftrace takes them.
std::vector<std::string> recounted_task_events();

/// Something happened between these two moments, both included.
struct Between {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

/// Why a task waited for its CPU before a run.
enum class WaitReason : std::uint8_t {
  unknown,    ///< the trace does not tell
  woken,      ///< it slept, or was born
  preempted,  ///< it could have run on
  yielded,    ///< it had given the CPU away by sched_yield
};

/// The kernel counts a wait by its run queue's clock, which it reads a moment before it comes to the tracepoint, or
/// earlier: not again at a switch that a wakeup brought about. What ftrace recorded before and after tells how much
/// earlier at most.
struct RecountedWait {
  WaitReason reason = WaitReason::unknown;
  std::uint64_t begin_ticks = 0;  ///< the tracepoint with which it began; the run's ended it
  Between from;                   ///< the kernel's own begin
  Between to;                     ///< and end
  /// Another CPU woke it, as the first for its own CPU, which idled and did nothing else: the kernel hands it over, and
  /// counts from when that CPU has taken it; noised counts from the wakeup.
  bool handed_over = false;
  bool handed_over_late = false;  ///< the same, but another task was the first, or that CPU was in an interrupt
  bool may_be_yielded = false;    ///< nothing happened since its sched_yield: on its way back, or in a later call
  std::uint64_t moving_ticks =
      0;  ///< it took at most so long to move it to other queues: the kernel counts no wait then
};

/// One stretch on a CPU, from switch to switch.
struct RecountedRun {
  unsigned cpu = 0;
  Between in;   ///< the tracepoint, and the next that follows on that CPU: a program at the same one runs in between
  Between out;  ///< likewise
  bool runnable = false;  ///< it could have run on
  bool yielded = false;   ///< by sched_yield
  bool ended = false;     ///< it will not run again
  bool migrated = false;  ///< the run before was on another CPU
  RecountedWait wait;     ///< before it
};

struct RecountedTask {
  std::vector<RecountedRun> runs;  ///< in order
  /// Of those runs, nested ones too, in order of their start; each with when the next tracepoint followed its first.
  std::vector<std::pair<Recounted, std::uint64_t>> interruptions;
  std::uint64_t signals = 0;  ///< sent to it
};

struct TaskRecount {
  std::map<int, RecountedTask> tasks;       ///< by pid
  std::vector<std::string> contradictions;  ///< what cannot be, in the trace, since `from_ticks`
};

/// Of a task, and of its threads and children, and theirs, all runs that began since `from_ticks`. What came before is
/// not understood from its begin: some of it is needed to know who has which CPU, and what is open there.
TaskRecount recount_tasks(const std::vector<TraceEvent>& events, int root, std::uint64_t from_ticks);

}  // namespace noised::live
