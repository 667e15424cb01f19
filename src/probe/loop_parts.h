// SPDX-License-Identifier: Apache-2.0
// What the detour loop and the phase loop have in common. Only their two files include it: each has a copy of its own,
// so that the compiler knows which registers a call keeps, and neither loop pays for the other.
#pragma once

#include <sched.h>

#include <cstdint>

#include "base/clocks.h"
#include "probe/detour_loop.h"

namespace noised::probe {
namespace {

// 2 ns: the C library reads the number that the kernel keeps in the thread's rseq area.
inline bool is_on(unsigned cpu) { return sched_getcpu() == static_cast<int>(cpu); }

// Stores the gap, then reads the clock again, so that storing is never measured as noise. Returns the new reading; 0 if
// the thread is on another CPU: a move takes a switch, which is always a gap.
[[gnu::noinline, gnu::cold]] inline std::uint64_t store(DetourRing& ring, LoopProgress& progress, unsigned cpu,
                                                        std::uint64_t start, std::uint64_t end, std::uint64_t limit) {
  do {
    if (!is_on(cpu)) return 0;
    (void)ring.push(TickDetour{start, end});
    progress.seen_ticks = end;
    start = end;
    end = read_tsc();
  } while (end - start > limit);
  progress.storing_ticks.store(progress.storing_ticks.load(std::memory_order_relaxed) + (end - start),
                               std::memory_order_relaxed);
  return end;
}

// The first reading; from the last one to it nothing was observed.
inline std::uint64_t begin(DetourRing& ring, LoopProgress& progress) {
  const std::uint64_t now = read_tsc();
  if (progress.seen_ticks == 0) {
    progress.first_ticks.store(now, std::memory_order_relaxed);
  } else {
    (void)ring.push(TickDetour{progress.seen_ticks, now, progress.gap});
  }
  progress.seen_ticks = now;
  return now;
}

}  // namespace
}  // namespace noised::probe
