// SPDX-License-Identifier: Apache-2.0
// Sampling the two clocks, and mapping between them.
#include "trace/clock.h"

#include <cpuid.h>

#include <algorithm>
#include <cassert>

#include "base/monotonic.h"
#include "base/tsc.h"

namespace noised {
namespace {

using Wide = unsigned __int128;

constexpr int kTries = 16;
constexpr std::uint64_t kUsualWidthFactor = 4;
constexpr std::uint64_t kStepNs = 10'000;

// The line through two samples, at `ticks`; `ticks` may lie outside them.
std::uint64_t interpolate(const ClockSample& a, const ClockSample& b, std::uint64_t ticks) {
  const std::uint64_t run = b.ticks - a.ticks;
  const std::uint64_t rise = b.ns - a.ns;
  if (ticks >= a.ticks) {
    return a.ns + static_cast<std::uint64_t>((Wide{ticks - a.ticks} * rise + run / 2) / run);
  }
  const auto before = static_cast<std::uint64_t>((Wide{a.ticks - ticks} * rise + run / 2) / run);
  return before < a.ns ? a.ns - before : 0;
}

std::uint64_t distance(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; }

}  // namespace

ClockSample read_clock_sample() {
  ClockSample best;
  best.half_width_ticks = UINT64_MAX;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const std::uint64_t before = read_tsc_ordered();
    const std::uint64_t ns = monotonic_ns();
    const std::uint64_t after = read_tsc_ordered();
    const std::uint64_t half = (after - before + 1) / 2;
    if (half < best.half_width_ticks) best = ClockSample{before + half, ns, half};
  }
  return best;
}

bool ClockMap::add(const ClockSample& sample) {
  narrowest_ticks_ = std::min(narrowest_ticks_, sample.half_width_ticks);
  if (ready() && sample.half_width_ticks > kUsualWidthFactor * std::max<std::uint64_t>(narrowest_ticks_, 1))
    return false;
  if (!samples_.empty() && (sample.ticks <= samples_.back().ticks || sample.ns <= samples_.back().ns)) {
    ++steps_;
    return false;
  }
  check_bend(sample);
  widest_accepted_ticks_ = std::max(widest_accepted_ticks_, sample.half_width_ticks);
  if (samples_.size() == kCapacity) samples_.erase(samples_.begin(), samples_.begin() + kCapacity / 2);
  samples_.push_back(sample);
  return true;
}

// How far the newest sample so far is from the line between its neighbours is how far the line between it and either
// can be from the truth.
void ClockMap::check_bend(const ClockSample& sample) {
  if (!ready()) return;
  const ClockSample& middle = samples_.back();
  const ClockSample& first = samples_[samples_.size() - 2];
  const std::uint64_t bend = distance(interpolate(first, sample, middle.ticks), middle.ns);
  if (bend > kStepNs) {
    ++steps_;
  } else {
    largest_bend_ns_ = std::max(largest_bend_ns_, bend);
  }
}

const ClockSample* ClockMap::segment(std::uint64_t ticks) const {
  const auto after = std::upper_bound(samples_.begin() + 1, samples_.end() - 1, ticks,
                                      [](std::uint64_t value, const ClockSample& s) { return value < s.ticks; });
  return &*(after - 1);
}

std::uint64_t ClockMap::to_ns(std::uint64_t ticks) const {
  assert(ready());
  const ClockSample* start = segment(ticks);
  return interpolate(start[0], start[1], ticks);
}

std::uint64_t ClockMap::to_ticks(std::uint64_t ns) const {
  assert(ready());
  const ClockSample& a = samples_[samples_.size() - 2];
  const ClockSample& b = samples_.back();
  const std::uint64_t rise = b.ns - a.ns;
  return static_cast<std::uint64_t>((Wide{ns} * (b.ticks - a.ticks) + rise / 2) / rise);
}

double ClockMap::frequency() const {
  assert(ready());
  return static_cast<double>(samples_.back().ticks - samples_.front().ticks) /
         static_cast<double>(samples_.back().ns - samples_.front().ns) * 1e9;
}

std::uint64_t ClockMap::uncertainty_ns() const {
  if (!ready()) return UINT64_MAX;
  return static_cast<std::uint64_t>(static_cast<double>(widest_accepted_ticks_) * 1e9 / frequency()) + 1 +
         largest_bend_ns_;
}

Status check_tsc() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kPowerManagement = 0x80000007U;
  constexpr unsigned kInvariantTsc = 1U << 8U;
  if (__get_cpuid(kPowerManagement, &a, &b, &c, &d) == 0 || (d & kInvariantTsc) == 0) {
    return failure("this CPU's time stamp counter is not invariant (CPUID 0x80000007)",
                   "on a virtual machine, let the host pass on 'invtsc'; other clocks are too slow to see noise");
  }
  return success();
}

}  // namespace noised
