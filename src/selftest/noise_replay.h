// SPDX-License-Identifier: Apache-2.0
// Detours that were recorded, made again: a real-time thread takes the CPU for as long.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace noised::selftest {

/// One detour to be made, in ns since the begin that all CPUs have in common.
struct PlannedDetour {
  std::uint64_t at_ns = 0;
  std::uint64_t length_ns = 0;
};

/// What one CPU is to lose.
struct ReplayPlan {
  unsigned cpu = 0;
  /// Rising; one that begins before the last has ended is late. CPUs may share them.
  std::shared_ptr<const std::vector<PlannedDetour>> detours;
};

/// What it lost, by the clock of the thread that took it.
struct ReplayedCpu {
  unsigned cpu = 0;
  std::uint64_t ways_ns =
      0;  ///< what waking up and going to sleep takes from the CPU here: the shortest detour there is
  std::uint64_t detours = 0;    ///< made
  std::uint64_t too_short = 0;  ///< left out, as they are shorter than that
  std::uint64_t too_short_ns = 0;
  double late_ns = 0;              ///< mean time from when they were to begin until the thread had the CPU
  std::uint64_t most_late_ns = 0;  ///< of one
  double error_ns = 0;             ///< mean of the length made, less the length planned, if ways are always as measured
  double error_deviation_ns = 0;   ///< its standard deviation
  std::uint64_t longer = 0;        ///< lasted 2% and 1 us longer than planned: somebody else had the CPU meanwhile
};

/// Makes all of them, on all CPUs from the same begin, with threads called `name` (at most 15 bytes) of SCHED_FIFO;
/// then says how exactly. What the ways take is measured first, which takes 0.5 s, in which the CPUs are taken from
/// others. An error where the machine does not let a thread have its CPU, or others take it too often to measure the
/// ways.
Result<std::vector<ReplayedCpu>> replay_noise(std::span<const ReplayPlan> plans, int priority, const std::string& name);

}  // namespace noised::selftest
