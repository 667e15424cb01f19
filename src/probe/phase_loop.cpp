// SPDX-License-Identifier: Apache-2.0
// Each iteration is one of the detour loop; with a footprint it also walks on by a line, and reads the clock only when
// that line has come.
#include "probe/phase_loop.h"

#include <algorithm>

#include "base/clocks.h"
#include "probe/loop_parts.h"

namespace noised::probe {
namespace {

// Ends a phase. What storing takes belongs to the phase that follows, and is no noise unless something interrupted it.
// 0 as store() says.
[[gnu::noinline]] std::uint64_t end_phase(DetourRing& ring, LoopProgress& progress, const LoopOptions& options,
                                          bool& broken, std::uint64_t now, std::uint64_t iterations) {
  broken = !ring.push(TickDetour{now, broken ? 0 : iterations, GapKind::sample});
  progress.seen_ticks = now;
  const std::uint64_t end = read_tsc();
  if (end - now > options.storing_limit_ticks)
    return store(ring, progress, options.cpu, now, end, options.storing_limit_ticks);
  progress.storing_ticks.store(progress.storing_ticks.load(std::memory_order_relaxed) + (end - now),
                               std::memory_order_relaxed);
  return end;
}

// Loads only: a store would wait in the store buffer, where it costs nothing that can be seen. Without the fence the
// clock is read while the load is under way, and where a line comes from costs nothing either: an iteration took 14.7
// ns for 8 KiB and for 256 KiB, in the L2. With it, each pays: 26 ns from the L1, 29 from the L2, 60 beyond it.
inline const CacheLine* next_line(const CacheLine* line) {
  line = line->next;
  asm volatile("" : "+r"(line));  // the compiler must not know that nobody uses it
  _mm_lfence();
  return line;
}

// The last reading, or 0 as store() says.
template <bool kTouches>
[[gnu::always_inline]] inline std::uint64_t run_part(DetourRing& ring, LoopProgress& progress,
                                                     const LoopOptions& options, const CacheLine*& place,
                                                     std::uint64_t last, std::uint64_t iterations) {
  const std::uint64_t threshold = options.threshold_ticks;
  const CacheLine* line = place;
  for (std::uint64_t left = iterations; left != 0; --left) {
    if constexpr (kTouches) line = next_line(line);
    std::uint64_t now = read_tsc();
    if (now - last > threshold) [[unlikely]] {
      progress.seen_ticks = last;
      now = store(ring, progress, options.cpu, last, now, options.storing_limit_ticks);
      if (now == 0) return 0;
    }
    last = now;
  }
  place = line;
  return is_on(options.cpu) ? last : 0;
}

template <bool kTouches>
LoopEnd run(DetourRing& ring, LoopProgress& progress, const std::atomic<bool>& stop, const LoopOptions& options,
            const PhaseWork& work) {
  std::uint64_t iterations = progress.iterations.load(std::memory_order_relaxed);
  const std::uint64_t first = begin(ring, progress);
  progress.gap = GapKind::moved;
  bool broken = true;  // there is no sample to count from: the next begins a series
  const CacheLine* line = work.lines;
  std::uint64_t left = work.iterations;
  std::uint64_t last = end_phase(ring, progress, options, broken, first, 0);
  if (last == 0) return LoopEnd::moved;
  do {
    // A long phase comes by here, where the loop ends, as often as a batch of the detour loop does.
    const std::uint64_t part = std::min(left, kLoopBatch);
    last = run_part<kTouches>(ring, progress, options, line, last, part);
    if (last == 0) return LoopEnd::moved;
    progress.seen_ticks = last;
    iterations += part;
    left -= part;
    if (left == 0) {
      last = end_phase(ring, progress, options, broken, last, work.iterations);
      if (last == 0) return LoopEnd::moved;
      left = work.iterations;
    }
    progress.iterations.store(iterations, std::memory_order_relaxed);
    progress.last_ticks.store(last, std::memory_order_release);
    if (last - first >= options.run_ticks) {
      progress.gap = GapKind::rested;
      return LoopEnd::rest;
    }
  } while (!stop.load(std::memory_order_relaxed));
  return LoopEnd::stopped;
}

}  // namespace

LoopEnd run_phase_loop(DetourRing& ring, LoopProgress& progress, const std::atomic<bool>& stop,
                       const LoopOptions& options, const PhaseWork& work) {
  return work.lines == nullptr ? run<false>(ring, progress, stop, options, work)
                               : run<true>(ring, progress, stop, options, work);
}

}  // namespace noised::probe
