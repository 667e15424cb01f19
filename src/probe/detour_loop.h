// SPDX-License-Identifier: Apache-2.0
// The detour loop: reads the time stamp counter without end and stores every gap above the threshold.
#pragma once

#include <atomic>
#include <cstdint>

#include "probe/detour_ring.h"

namespace noised::probe {

/// What the loop tells of itself, published once a batch; relaxed stores to one cache line, which cost the loop
/// nothing measurable (they drain from the store buffer while it goes on).
struct alignas(64) LoopProgress {
  std::atomic<std::uint64_t> iterations{0};
  std::atomic<std::uint64_t> first_ticks{0};    ///< 0 until the loop runs
  std::atomic<std::uint64_t> last_ticks{0};     ///< the counter at the last publication
  std::atomic<std::uint64_t> storing_ticks{0};  ///< time spent storing detours, in which nothing was observed
  std::uint64_t seen_ticks = 0;                 ///< the loop's own, as the next: the CPU was observed until then
  GapKind gap = GapKind::moved;                 ///< why it was not after that
};

/// Iterations between two looks at `stop`: about 40 us.
inline constexpr std::uint64_t kLoopBatch = 4096;

enum class LoopEnd { stopped, moved, rest, aside };

struct LoopOptions {
  unsigned cpu = 0;
  std::uint64_t threshold_ticks = 0;      ///< the largest gap that is not a detour
  std::uint64_t storing_limit_ticks = 0;  ///< a longer gap while a detour is stored was no store, but an interruption
  std::uint64_t run_ticks = UINT64_MAX;   ///< ends for a rest after this time
  std::uint64_t quantum_ticks = 0;        ///< a sample at the end of each quantum of time (FTQ); 0: none
  std::uint64_t work = 0;                 ///< a sample after so many iterations, in whole batches (FWQ); 0: none
  const volatile std::uint64_t* arrived = nullptr;  ///< ends, to step aside, when this is not 0; looked at always
};

/// Runs until `stop` is set, until it finds itself on another CPU, or until it is time to rest, looking at all three
/// once a batch. Makes no system call. What comes after it was moved or rested is stored by the next run, as a gap of
/// that kind.
LoopEnd run_detour_loop(DetourRing& ring, LoopProgress& progress, const std::atomic<bool>& stop,
                        const LoopOptions& options);

}  // namespace noised::probe
