// SPDX-License-Identifier: Apache-2.0
// The inner loop is a subtraction and a comparison beside the reading itself, 9.3 ns an iteration here; everything
// else happens once a detour or once a batch (tests/bench/run prints it beside a bare loop and oslat).
#include "probe/detour_loop.h"

#include "base/clocks.h"
#include "probe/loop_parts.h"

namespace noised::probe {
namespace {

// Where the series of samples is. A quantum ends where its grid says, not so long after the last: as in FTQ, one whose
// end lies in a detour ends with the detour, and the next is shorter.
struct Sampling {
  std::uint64_t quantum_ticks;
  std::uint64_t quantum_end;
  std::uint64_t iterations;  // at the last sample
  bool broken = true;        // there is no sample to count from: the next begins a series
};

std::uint64_t next_on_grid(std::uint64_t now, std::uint64_t quantum) { return (now / quantum + 1) * quantum; }

// Stores a sample. What storing takes is no noise, unless something interrupted it. 0 as store() says.
[[gnu::noinline, gnu::cold]] std::uint64_t store_sample(DetourRing& ring, LoopProgress& progress,
                                                        const LoopOptions& options, Sampling& sampling,
                                                        std::uint64_t now, std::uint64_t iterations) {
  const std::uint64_t done = sampling.broken ? 0 : iterations - sampling.iterations;
  sampling.broken = !ring.push(TickDetour{now, done, GapKind::sample});
  sampling.iterations = iterations;
  if (sampling.quantum_ticks != 0) sampling.quantum_end = next_on_grid(now, sampling.quantum_ticks);
  progress.seen_ticks = now;
  const std::uint64_t end = read_tsc();
  if (end - now > options.storing_limit_ticks)
    return store(ring, progress, options.cpu, now, end, options.storing_limit_ticks);
  progress.storing_ticks.store(progress.storing_ticks.load(std::memory_order_relaxed) + (end - now),
                               std::memory_order_relaxed);
  return end;
}

// One batch; the last reading, or 0 as store() says, or if a task has come. With quanta, or where it steps aside, an
// iteration has one comparison more; without, the loop has no trace of them.
template <bool kQuanta, bool kAside>
[[gnu::always_inline]] inline std::uint64_t run_batch(DetourRing& ring, LoopProgress& progress,
                                                      const LoopOptions& options, Sampling& sampling,
                                                      std::uint64_t last, std::uint64_t iterations) {
  const std::uint64_t threshold = options.threshold_ticks;
  for (std::uint64_t left = kLoopBatch; left != 0; --left) {
    std::uint64_t now = read_tsc();
    if (now - last > threshold) [[unlikely]] {
      progress.seen_ticks = last;
      now = store(ring, progress, options.cpu, last, now, options.storing_limit_ticks);
      if (now == 0) return 0;
    }
    if constexpr (kQuanta) {
      if (now >= sampling.quantum_end) [[unlikely]] {
        now = store_sample(ring, progress, options, sampling, now, iterations + kLoopBatch - left + 1);
        if (now == 0) return 0;
      }
    }
    last = now;
    if constexpr (kAside) {
      if (*options.arrived != 0) [[unlikely]] {
        progress.seen_ticks = last;
        return 0;
      }
    }
  }
  return is_on(options.cpu) ? last : 0;
}

template <bool kQuanta, bool kAside>
LoopEnd run(DetourRing& ring, LoopProgress& progress, const std::atomic<bool>& stop, const LoopOptions& options) {
  std::uint64_t iterations = progress.iterations.load(std::memory_order_relaxed);
  const std::uint64_t first = begin(ring, progress);
  std::uint64_t last = first;
  progress.gap = GapKind::moved;
  Sampling sampling{options.quantum_ticks, UINT64_MAX, iterations};
  if (kQuanta || options.work != 0) last = store_sample(ring, progress, options, sampling, last, iterations);
  if (last == 0) return LoopEnd::moved;
  do {
    last = run_batch<kQuanta, kAside>(ring, progress, options, sampling, last, iterations);
    if (last == 0) return kAside && *options.arrived != 0 ? LoopEnd::aside : LoopEnd::moved;
    progress.seen_ticks = last;
    iterations += kLoopBatch;
    if (options.work != 0 && iterations - sampling.iterations >= options.work) {
      last = store_sample(ring, progress, options, sampling, last, iterations);
      if (last == 0) return LoopEnd::moved;
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

LoopEnd run_detour_loop(DetourRing& ring, LoopProgress& progress, const std::atomic<bool>& stop,
                        const LoopOptions& options) {
  if (options.arrived != nullptr) return run<false, true>(ring, progress, stop, options);
  return options.quantum_ticks != 0 ? run<true, false>(ring, progress, stop, options)
                                    : run<false, false>(ring, progress, stop, options);
}

}  // namespace noised::probe
