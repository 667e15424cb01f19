// SPDX-License-Identifier: Apache-2.0
// The phases tried are those that will be measured: same loop, same memory, a ring as large.
#include "probe/phase_fit.h"

#include <algorithm>
#include <vector>

#include "probe/phase_calibration.h"

namespace noised {
namespace {

// A round of the shortest phases, 1 us, fits.
constexpr std::size_t kRing = std::size_t{1} << 16U;
// The second decile of twenty phases is of two.
constexpr std::uint64_t kLeastPhases = 20;
// Of 10 ms, 50 ms: some 0.1 to 0.2 s in all.
constexpr std::uint64_t kLongestPhases = 5;

struct Round {
  std::vector<TickDetour> popped;
  std::vector<std::uint64_t> ticks;  // of each whole phase
  std::uint64_t detours = 0;
};

void read(DetourRing& ring, Round& round) {
  round.popped.clear();
  round.ticks.clear();
  round.detours = 0;
  ring.pop_all(round.popped);
  std::uint64_t before = 0;
  for (const TickDetour& each : round.popped) {
    if (each.kind == GapKind::detour) ++round.detours;
    if (each.kind != GapKind::sample) continue;
    if (each.end_ticks != 0) round.ticks.push_back(each.start_ticks - before);
    before = each.start_ticks;
  }
}

}  // namespace

FittedPhases fit_phases(const PhaseOptions& phases, const CacheLine* lines, const LoopOptions& options,
                        const std::atomic<bool>& stop, const std::function<bool()>& return_to_cpu) {
  PhaseCalibration calibration(phases.grain_ticks, phases.longest_ticks);
  LoopOptions once = options;
  once.run_ticks = std::max(kLongestPhases * phases.longest_ticks, kLeastPhases * calibration.tried_ticks());
  DetourRing ring(kRing);
  Round round;
  round.popped.reserve(kRing);
  round.ticks.reserve(kRing);
  FittedPhases fitted;
  while (!calibration.done() && !stop.load()) {
    LoopProgress progress;
    const PhaseWork work{calibration.next_iterations(), lines};
    const LoopEnd end = run_phase_loop(ring, progress, stop, once, work);
    read(ring, round);
    if (end == LoopEnd::moved && !return_to_cpu()) break;
    const std::uint64_t iterations = progress.iterations.load(std::memory_order_relaxed);
    if (iterations != 0) fitted.detours = static_cast<double>(round.detours) / static_cast<double>(iterations);
    calibration.add(round.ticks);
  }
  fitted.iterations = calibration.iterations();
  fitted.deviation = calibration.deviation();
  return fitted;
}

}  // namespace noised
