// SPDX-License-Identifier: Apache-2.0
// Phases of work as a recording tells of them, and as a probe runs them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probe/probe.h"
#include "trace/clock.h"

namespace noised {

/// What probes are to run in place of their loop.
struct PhasePlan {
  std::uint64_t grain_ns = 0;  ///< 0: no phases, but the loop
  std::uint64_t footprint_bytes = 0;
  bool fifo = false;
  int priority = 1;  ///< with fifo
};

/// The plan in ticks.
PhaseOptions phase_options(const PhasePlan& plan, const ClockMap& clock);

/// Samples that a ring must hold for such phases, a power of two: those of 250 ms, ten drains, as far as they fit in
/// 6 MiB; never less than the ring has for detours.
std::size_t ring_capacity(const PhasePlan& plan);

/// What is to be said of the phases that a probe found: that they are not as long as they should be, that waiting for
/// memory is taken for detours, or that their memory is not locked. Mostly nothing.
std::vector<std::string> remarks_on(const FittedPhases& fitted, const PhasePlan& plan, unsigned cpu);

}  // namespace noised
