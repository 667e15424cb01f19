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

/// One stretch of a task on a CPU, from switch to switch.
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

/// Time that a task lost in one piece.
struct Loss {
  Detour detour;
  std::uint32_t pid = 0;
  SourceId name = 0;
  std::uint8_t group = 0;
  LossKind kind = LossKind::interrupted;
};

}  // namespace noised
