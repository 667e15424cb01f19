// SPDX-License-Identifier: Apache-2.0
// Fits phases of work to a grain, on the CPU that will run them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "probe/phase_loop.h"

namespace noised {

/// The phases that a probe is to run.
struct PhaseOptions {
  std::uint64_t grain_ticks = 0;      ///< 0: no phases, but the detour loop
  std::uint64_t longest_ticks = 0;    ///< of a phase that is tried; a longer one is a multiple of that
  std::uint64_t footprint_bytes = 0;  ///< 0: they touch nothing
};

/// What came of fitting.
struct FittedPhases {
  std::uint64_t iterations = 1;  ///< of a phase
  double deviation = 1;          ///< PhaseCalibration::deviation()
  bool locked = true;            ///< Footprint::is_locked()
  double detours = 0;            ///< gaps above the threshold, for each iteration
};

/// Runs rounds of phases, each of five of the longest or of twenty, on the calling thread, until they fit or `stop` is
/// set. Where the thread is moved, `return_to_cpu` brings it back, or says false: then it ends too.
FittedPhases fit_phases(const PhaseOptions& phases, const CacheLine* lines, const LoopOptions& options,
                        const std::atomic<bool>& stop, const std::function<bool()>& return_to_cpu);

}  // namespace noised
