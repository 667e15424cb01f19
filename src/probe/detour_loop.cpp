// SPDX-License-Identifier: Apache-2.0
// The inner loop is a subtraction and a comparison beside the reading itself, 9.3 ns an iteration here; everything
// else happens once a detour or once a batch (tests/bench/run prints it beside a bare loop and oslat).
#include "probe/detour_loop.h"

#include <sched.h>

#include "base/tsc.h"

namespace noised {
namespace {

// 2 ns: the C library reads the number that the kernel keeps in the thread's rseq area.
bool is_on(unsigned cpu) { return sched_getcpu() == static_cast<int>(cpu); }

// Stores the gap, then reads the clock again, so that storing is never measured as noise. Returns the new reading; 0 if
// the thread is on another CPU: a move takes a switch, which is always a gap.
[[gnu::noinline, gnu::cold]] std::uint64_t store(DetourRing& ring, LoopProgress& progress, unsigned cpu,
                                                 std::uint64_t start, std::uint64_t end, std::uint64_t limit) {
  do {
    if (!is_on(cpu)) return 0;
    ring.push(TickDetour{start, end});
    progress.seen_ticks = end;
    start = end;
    end = read_tsc();
  } while (end - start > limit);
  progress.storing_ticks.store(progress.storing_ticks.load(std::memory_order_relaxed) + (end - start),
                               std::memory_order_relaxed);
  return end;
}

// The first reading; from the last one to it nothing was observed.
std::uint64_t begin(DetourRing& ring, LoopProgress& progress) {
  const std::uint64_t now = read_tsc();
  if (progress.seen_ticks == 0) {
    progress.first_ticks.store(now, std::memory_order_relaxed);
  } else {
    ring.push(TickDetour{progress.seen_ticks, now, progress.gap});
  }
  progress.seen_ticks = now;
  return now;
}

}  // namespace

LoopEnd run_detour_loop(DetourRing& ring, LoopProgress& progress, const std::atomic<bool>& stop,
                        const LoopOptions& options) {
  const std::uint64_t threshold = options.threshold_ticks;
  std::uint64_t iterations = progress.iterations.load(std::memory_order_relaxed);
  const std::uint64_t first = begin(ring, progress);
  std::uint64_t last = first;
  progress.gap = GapKind::moved;
  do {
    for (std::uint64_t left = kLoopBatch; left != 0; --left) {
      std::uint64_t now = read_tsc();
      if (now - last > threshold) [[unlikely]] {
        progress.seen_ticks = last;
        now = store(ring, progress, options.cpu, last, now, options.storing_limit_ticks);
        if (now == 0) return LoopEnd::moved;
      }
      last = now;
    }
    if (!is_on(options.cpu)) return LoopEnd::moved;
    progress.seen_ticks = last;
    iterations += kLoopBatch;
    progress.iterations.store(iterations, std::memory_order_relaxed);
    progress.last_ticks.store(last, std::memory_order_release);
    if (last - first >= options.run_ticks) {
      progress.gap = GapKind::rested;
      return LoopEnd::rest;
    }
  } while (!stop.load(std::memory_order_relaxed));
  return LoopEnd::stopped;
}

}  // namespace noised
