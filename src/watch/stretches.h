// SPDX-License-Identifier: Apache-2.0
// Interruptions of a task: intervals that follow each other without a return to it make one. Pure: no clock, no I/O.
#pragma once

#include <noised/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace noised {

/// Intervals at most this far apart are one interruption: what is in between is the way from one to the other.
inline constexpr std::uint64_t kJoinNs = 300;

/// One interruption, with its intervals in order of their start; valid during the call.
using OnInterruption = std::function<void(const Detour& whole, std::span<const Interval> intervals)>;

/// Divides intervals, in any order, into interruptions and tells them in order of time. Intervals that end after
/// `until_ns`, and those that touch them, are left out. `scratch` is overwritten. Returns how many were told.
std::size_t divide_interruptions(std::span<const Interval> intervals, std::uint64_t until_ns,
                                 std::vector<Interval>& scratch, const OnInterruption& on_interruption);

}  // namespace noised
