// SPDX-License-Identifier: Apache-2.0
// The detour loop: reads the time stamp counter without end and stores every gap above the threshold.
#pragma once

#include <atomic>
#include <cstdint>

#include "probe/detour_ring.h"

namespace noised {

/// What the loop tells of itself, published once a batch; relaxed stores to one cache line, which cost the loop
/// nothing measurable (they drain from the store buffer while it goes on).
struct alignas(64) LoopProgress {
  std::atomic<std::uint64_t> iterations{0};
  std::atomic<std::uint64_t> first_ticks{0};    ///< 0 until the loop runs
  std::atomic<std::uint64_t> last_ticks{0};     ///< the counter at the last publication
  std::atomic<std::uint64_t> storing_ticks{0};  ///< time spent storing detours, in which nothing was observed
  std::uint64_t seen_ticks = 0;                 ///< the loop's own: the CPU was observed until then
};

/// Iterations between two looks at `stop`: about 40 us.
inline constexpr std::uint64_t kLoopBatch = 4096;

enum class LoopEnd { stopped, moved };

/// Runs until `stop` is set, or until it finds itself on another CPU than `cpu`. Makes no system call.
/// `threshold_ticks` is the largest gap that is not a detour. A gap while a detour is being stored counts as a detour
/// of its own above `storing_limit_ticks`: it was an interruption then, not the store. What comes after it was moved is
/// stored by the next run, as a blind time.
LoopEnd run_detour_loop(DetourRing& ring, LoopProgress& progress, const std::atomic<bool>& stop, unsigned cpu,
                        std::uint64_t threshold_ticks, std::uint64_t storing_limit_ticks);

}  // namespace noised
