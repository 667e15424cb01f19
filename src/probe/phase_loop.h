// SPDX-License-Identifier: Apache-2.0
// The phase loop: phases of fixed work, in which the time stamp counter is read as in the detour loop (Tsafrir 2005,
// section 3.1, with a working set if wanted).
#pragma once

#include <atomic>
#include <cstdint>

#include "probe/detour_loop.h"
#include "probe/footprint.h"

namespace noised::probe {

/// The work of a phase. It is the same each time; that it reads the clock and stores the phase before is a part of it.
struct PhaseWork {
  std::uint64_t iterations = 0;      ///< each reads the clock, and walks on by one line; above 0
  const CacheLine* lines = nullptr;  ///< of a cycle; null: nothing is touched
};

/// Runs phases as run_detour_loop() runs its batches: it ends as that does, and stores and publishes the same. A
/// sample, of work.iterations, is stored at the end of each phase; one of 0 where a series of phases begins. Quanta and
/// work of the options are not looked at. A phase that is going on when the loop ends has no sample.
LoopEnd run_phase_loop(DetourRing& ring, LoopProgress& progress, const std::atomic<bool>& stop,
                       const LoopOptions& options, const PhaseWork& work);

}  // namespace noised::probe
