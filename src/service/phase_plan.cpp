// SPDX-License-Identifier: Apache-2.0
#include "service/phase_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "views/views.h"

namespace noised {
namespace {

constexpr std::uint64_t kLongestTriedNs = 10'000'000;
constexpr std::uint64_t kHeldNs = 250'000'000;
constexpr std::size_t kMostHeld = std::size_t{1} << 18U;
// What a recording is to say: 5% would be seen in every figure made of it.
constexpr double kBadDeviation = 0.05;
// A gap in 200 iterations is one in 2 to 6 us: no noise is so dense, but every other line comes from memory so.
constexpr double kManyDetours = 0.005;

}  // namespace

PhaseOptions phase_options(const PhasePlan& plan, const ClockMap& clock) {
  if (plan.grain_ns == 0) return {};
  return {clock.to_ticks(plan.grain_ns), clock.to_ticks(kLongestTriedNs), plan.footprint_bytes};
}

std::size_t ring_capacity(const PhasePlan& plan) {
  const std::size_t least = ProbeOptions().ring_capacity;
  if (plan.grain_ns == 0) return least;
  return std::clamp(std::bit_ceil(static_cast<std::size_t>(kHeldNs / plan.grain_ns)), least, kMostHeld);
}

std::vector<std::string> remarks_on(const FittedPhases& fitted, const PhasePlan& plan, unsigned cpu) {
  std::vector<std::string> remarks;
  if (std::abs(fitted.deviation) > kBadDeviation) {
    remarks.push_back(
        fmt::format("phases of {} on CPU {}: calibrated to {:+.1f}% of that only, as it is disturbed too "
                    "much, or an iteration takes too long",
                    views::format_duration(plan.grain_ns), cpu, fitted.deviation * 100));
  }
  if (fitted.detours > kManyDetours) {
    remarks.push_back(
        fmt::format("detours apart from waiting for memory on CPU {}: {:.1f}% of all readings of the clock "
                    "take longer than the threshold: give a larger --threshold, or a smaller --footprint",
                    cpu, fitted.detours * 100));
  }
  if (!fitted.locked) {
    remarks.push_back(
        fmt::format("memory of phases locked on CPU {}: RLIMIT_MEMLOCK does not allow it (LimitMEMLOCK=infinity, "
                    "ulimit -l); where it is swapped out, page faults show",
                    cpu));
  }
  return remarks;
}

}  // namespace noised
