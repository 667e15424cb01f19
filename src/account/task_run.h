// SPDX-License-Identifier: Apache-2.0
// What flows into and out of watching: runs of tasks, and what they lost. Times are CLOCK_MONOTONIC in nanoseconds.
#pragma once

#include <noised/types.h>

#include <cstdint>

namespace noised {

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
  bool known = false;             ///< the task was seen before, or was born meanwhile: the counts below tell all of it
  bool migrated = false;          ///< the run before was on another CPU
  std::uint32_t voluntary = 0;    ///< switches since the run before, the one at the end of this run included
  std::uint32_t involuntary = 0;  ///< likewise
  std::uint64_t waited_ns = 0;    ///< before it ran
  LossKind wait = LossKind::queued;  ///< preempted or queued
  std::uint32_t unseen_runs = 0;     ///< that the kernel counted since the run before
  std::uint64_t unseen_wait_ns = 0;  ///< before those and this one, or before this one if its begin was not seen
  std::uint32_t minor_faults = 0;    ///< since the run before
  std::uint32_t major_faults = 0;
};

/// The task that has a CPU now.
struct CurrentTask {
  std::uint32_t pid = 0;
  SourceId name = kNoName;
  std::uint8_t group = 0;
  std::uint64_t start_ns = 0;
};

/// Time that a task lost in one piece.
struct Loss {
  Detour detour;
  std::uint32_t pid = 0;
  SourceId name = 0;
  std::uint8_t group = 0;
  LossKind kind = LossKind::interrupted;
  std::uint64_t waited_ns = 0;  ///< what the kernel counts of it as a wait; none of it while it had the CPU
};

}  // namespace noised
