// SPDX-License-Identifier: Apache-2.0
// The inner loop is a subtraction and a comparison beside the reading itself, 9.3 ns an iteration here; everything
// else happens once a detour or once a batch (tests/bench/run prints it beside a bare loop and oslat).
#include "probe/detour_loop.h"

#include "base/tsc.h"

namespace noised {
namespace {

// Stores the gap, then reads the clock again, so that storing is never measured as noise. Returns the new reading.
[[gnu::noinline, gnu::cold]] std::uint64_t store(DetourRing& ring, LoopProgress& progress, std::uint64_t start,
                                                 std::uint64_t end, std::uint64_t limit) {
  do {
    ring.push(TickDetour{start, end});
    start = end;
    end = read_tsc();
  } while (end - start > limit);
  progress.storing_ticks.store(progress.storing_ticks.load(std::memory_order_relaxed) + (end - start),
                               std::memory_order_relaxed);
  return end;
}

}  // namespace

void run_detour_loop(DetourRing& ring, LoopProgress& progress, const std::atomic<bool>& stop,
                     std::uint64_t threshold_ticks, std::uint64_t storing_limit_ticks) {
  std::uint64_t iterations = 0;
  std::uint64_t last = read_tsc();
  progress.first_ticks.store(last, std::memory_order_relaxed);
  do {
    for (std::uint64_t left = kLoopBatch; left != 0; --left) {
      std::uint64_t now = read_tsc();
      if (now - last > threshold_ticks) [[unlikely]] {
        now = store(ring, progress, last, now, storing_limit_ticks);
      }
      last = now;
    }
    iterations += kLoopBatch;
    progress.iterations.store(iterations, std::memory_order_relaxed);
    progress.last_ticks.store(last, std::memory_order_release);
  } while (!stop.load(std::memory_order_relaxed));
}

}  // namespace noised
