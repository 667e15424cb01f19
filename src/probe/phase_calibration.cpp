// SPDX-License-Identifier: Apache-2.0
#include "probe/phase_calibration.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace noised {
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

}  // namespace noised
