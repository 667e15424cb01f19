// SPDX-License-Identifier: Apache-2.0
// The phases tried are those that will be measured: same loop, same memory, a ring as large.
#include "probe/phase_fit.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <vector>

namespace noised::probe {
namespace {

// An iteration takes 9 ns without a footprint, 100 where each waits for memory: a first round of this many is short.
constexpr std::uint64_t kTicksAnIteration = 50;
// After a round in which no phase came to its end.
constexpr std::uint64_t kShorter = 8;

std::uint64_t at_least_one(double iterations) {
  return iterations < 1 ? 1 : static_cast<std::uint64_t>(std::llround(iterations));
}

}  // namespace

double second_decile(std::vector<std::uint64_t>& ticks) {
  assert(!ticks.empty());
  std::sort(ticks.begin(), ticks.end());
  const std::size_t first = ticks.size() / 10;
  const std::size_t end = std::max(first + 1, ticks.size() / 5);
  const auto from = ticks.begin() + static_cast<std::ptrdiff_t>(first);
  const auto to = ticks.begin() + static_cast<std::ptrdiff_t>(end);
  return static_cast<double>(std::accumulate(from, to, std::uint64_t{0})) / static_cast<double>(end - first);
}

PhaseCalibration::PhaseCalibration(std::uint64_t grain_ticks, std::uint64_t longest_ticks)
    : tried_ticks_(std::max<std::uint64_t>(1, std::min(grain_ticks, longest_ticks))),
      next_(std::max<std::uint64_t>(1, tried_ticks_ / kTicksAnIteration)),
      best_(next_) {
  scale_ = static_cast<double>(std::max<std::uint64_t>(1, grain_ticks)) / static_cast<double>(tried_ticks_);
}

void PhaseCalibration::add(std::vector<std::uint64_t>& ticks) {
  ++rounds_;
  done_ = rounds_ == kMostRounds;
  if (ticks.empty()) {
    next_ = std::max<std::uint64_t>(1, next_ / kShorter);
    return;
  }
  const double wanted = static_cast<double>(tried_ticks_);
  const double took = second_decile(ticks);
  const double deviation = (took - wanted) / wanted;
  if (!tried_ || std::abs(deviation) < std::abs(deviation_)) {
    tried_ = true;
    best_ = next_;
    deviation_ = deviation;
  }
  const std::uint64_t next = at_least_one(static_cast<double>(next_) * wanted / took);
  done_ = done_ || std::abs(deviation) <= kWantedDeviation || next == next_;
  next_ = next;
}

std::uint64_t PhaseCalibration::iterations() const { return at_least_one(static_cast<double>(best_) * scale_); }

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

}  // namespace noised::probe
