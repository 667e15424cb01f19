// SPDX-License-Identifier: Apache-2.0
// What flows into and out of watching: runs of tasks, and what they lost. Times are CLOCK_MONOTONIC in nanoseconds.
#pragma once

#include <noised/abi.h>

#include <cstdint>
#include <optional>
#include <span>

#include "account/attributor.h"
#include "account/overhead_bounds.h"
#include "model/types.h"

namespace noised::account {

/// On a CPU that no task had yet, and for which one was woken there.
inline bool is_of_idle(const Interval& interval) {
  return interval.kind != Kind::page_fault && (interval.flags & NOISED_FLAG_IDLE) != 0;
}

/// Of a task that no record has told yet.
inline constexpr SourceId kNoName = UINT32_MAX;

/// What the kernel has counted of a task since it was born; modulo 2^32, but for the wait.
struct TaskCounts {
  std::uint64_t wait_ns = 0;  ///< runnable without a CPU
  std::uint32_t runs = 0;     ///< 0: this kernel counts neither runs nor waits
  std::uint32_t voluntary = 0;
  std::uint32_t involuntary = 0;
  std::uint32_t minor_faults = 0;
  std::uint32_t major_faults = 0;
};

/// Where the kernel keeps a task and when it was born, as abi.h has it: one task of all that have the same pid.
struct TaskId {
  std::uint32_t slot = 0;  ///< two tasks hardly have one at the same time: abi.h
  std::uint8_t birth = 0;
};

/// One stretch of a task on a CPU, from switch to switch. It takes no time if only its end was seen.
struct TaskRun {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t pid = 0;
  std::uint32_t tgid = 0;
  SourceId name = 0;
  std::uint8_t group = 0;
  bool preempted = false;  ///< it looked runnable when it was switched out
  bool ended = false;      ///< it will not run again
  TaskCounts counts;       ///< up to the switch that ends this run
  TaskId id = {};
  bool yielded = false;  ///< it gave the CPU away by sched_yield
};

enum class LossKind : std::uint8_t {
  interrupted,  ///< while it had the CPU
  preempted,    ///< it had to wait for a CPU after an involuntary switch,
  queued,       ///< or after a wakeup
};

/// "interrupted", "preempted" or "queued".
constexpr const char* to_string(LossKind kind) {
  if (kind == LossKind::interrupted) return "interrupted";
  return kind == LossKind::preempted ? "preempted" : "queued";
}

/// What is known of a run besides its times, once it is in order with those of the other CPUs.
struct RunFacts {
  std::uint64_t life = 0;         ///< of the task: a number that no other task has (task_lives.h)
  bool known = false;             ///< the task was seen before, or was born meanwhile: the counts below tell all of it
  bool migrated = false;          ///< the run before was on another CPU
  std::uint32_t voluntary = 0;    ///< switches since the run before, the one at the end of this run included
  std::uint32_t involuntary = 0;  ///< likewise
  std::uint64_t waited_ns = 0;    ///< before it ran; the kernel's count, and what came before that to leave idle
  LossKind wait = LossKind::queued;  ///< preempted or queued
  bool yielded = false;              ///< it gave the CPU away, at its end; that switch is an involuntary one
  std::uint64_t yielded_ns = 0;      ///< like waited_ns, for what it had given away: nobody took that
  std::uint32_t unseen_runs = 0;     ///< that the kernel counted since the run before
  std::uint64_t unseen_wait_ns = 0;  ///< before those and this one, or before this one if its begin was not seen
  std::uint32_t minor_faults = 0;    ///< since the run before
  std::uint32_t major_faults = 0;
};

/// The task that has a CPU now. `life`: as in RunFacts; 0: not known yet.
struct CurrentTask {
  std::uint32_t pid = 0;
  SourceId name = kNoName;
  std::uint8_t group = 0;
  std::uint64_t start_ns = 0;
  std::uint32_t slot = 0;
  std::uint64_t life = 0;
};

/// What an interruption took beside what is told of it, by the mean and by the longest of those that were measured. It
/// is no bound: what entries cost changes with what else a machine does (entry_costs.h).
struct Untold {
  std::uint64_t mean_ns = 0;
  std::uint64_t most_ns = 0;
};

/// Time that a task lost in one piece.
struct Loss {
  Detour detour;
  std::uint32_t pid = 0;
  SourceId name = 0;
  std::uint8_t group = 0;
  LossKind kind = LossKind::interrupted;
  std::uint64_t waited_ns = 0;                  ///< of it, without a CPU (RunFacts); none of it while it had the CPU
  std::uint64_t life = 0;                       ///< as in RunFacts
  std::optional<Untold> untold = std::nullopt;  ///< of an interruption; nothing: not known
};

// The ledger of a loss: whose each of its nanoseconds was. Pure: no clock, no I/O.

/// Learns from the losses what switches and wakeups cost on this machine.
class LossLedger {
 public:
  /// `outside`: as the Attributor's.
  explicit LossLedger(Kind outside = Kind::hypervisor) : outside_(outside), attributor_(outside) {}

  /// The result is valid until the next call. A wait in which nobody had the CPU is what it costs to wake it up, up to
  /// a bound learned from such waits; the rest is, like any gap without kernel activity, the hypervisor's or
  /// hardware's.
  DetourLedger& divide(const Loss& loss, std::span<const Interval> intervals);

 private:
  Kind outside_;
  OverheadBounds bounds_;
  Attributor attributor_;
  DetourLedger ledger_;
};

}  // namespace noised::account
