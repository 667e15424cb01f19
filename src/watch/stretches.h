// SPDX-License-Identifier: Apache-2.0
// Interruptions of a task: intervals that follow each other without a return to it make one. Pure: no clock, no I/O.
#pragma once

#include <noised/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "watch/entry_costs.h"

namespace noised {

/// Intervals at most this far apart are one interruption: what is in between is the way from one to the other. So are
/// interrupts and softirqs in less time than a return to the task takes.
inline constexpr std::uint64_t kJoinNs = 300;

/// The part of a run whose interruptions are asked for.
struct Stretch {
  std::uint64_t from_ns = 0;            ///< what was before is told
  std::uint64_t until_ns = UINT64_MAX;  ///< what ends later may not be complete
  std::uint64_t end_ns = UINT64_MAX;    ///< of the run
  bool preempted = false;               ///< it ends with a switch that the task did not want
};

/// One interruption, with its intervals in order of their start; valid during the call.
using OnInterruption = std::function<void(const Detour& whole, std::span<const Interval> intervals)>;

/// Divides intervals, in any order, into interruptions and tells them in order of time, each with what it costs to
/// enter and to leave. Intervals that end after the stretch, and those that touch them, are left out. `scratch` is
/// overwritten. Returns how many were told.
std::size_t divide_interruptions(std::span<const Interval> intervals, const Stretch& stretch, const EntryCosts& costs,
                                 std::vector<Interval>& scratch, const OnInterruption& on_interruption);

}  // namespace noised
