// SPDX-License-Identifier: Apache-2.0
// Phases of fixed work, and what the ledger says was in each (Tsafrir et al. 2005, 3.1: the micro-benchmark joined with
// klogger's log of the same run). Pure: no clock, no I/O.
#pragma once

#include <noised/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "attribution/ledger.h"

namespace noised {

/// What one source did in a phase.
struct PhaseSource {
  SourceId source = 0;
  std::uint32_t activations = 0;
  std::uint64_t self_ns = 0;
  std::uint32_t interruptions = 0;  ///< of the activations, those that were not in another task's time
};

/// What the ledger books besides the kernel's activity.
inline constexpr std::array kGaps{Kind::overhead, Kind::hypervisor, Kind::hardware, Kind::unexplained};

/// From one sample to the next, the time in which the first of them was stored included (some 20 ns).
struct Phase {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t iterations = 0;  ///< of the loop
  std::uint64_t detour_ns = 0;
  std::array<PhaseSource, 4> gaps;   ///< of detour_ns: kGaps, in detours that have some; their source is not set
  bool in_doubt = false;             ///< a detour is, or the parts are more than the whole
  std::vector<PhaseSource> sources;  ///< of the kernel's activity, rising by source

  [[nodiscard]] std::uint64_t length_ns() const { return end_ns - start_ns; }
  /// Entry, exit and refill in detours.
  [[nodiscard]] std::uint64_t overhead_ns() const { return gaps[0].self_ns; }
  /// What the work took by itself: without any detour.
  [[nodiscard]] std::uint64_t outside_ns() const { return in_doubt ? 0 : length_ns() - detour_ns; }
};

/// Makes phases out of what a recording tells of one CPU. A detour never reaches over a sample, as the loop takes
/// samples, and in a detour it does not run: so each one is in one phase, with all its ledger, and what phases say of a
/// source adds up to the report of the same recording. Allocates only where a phase has more sources than any before.
/// What happens while another task has the CPU interrupts that task: of the work it is one interruption, by the task
/// (and by the work function that a kernel thread runs).
class PhaseSeries {
 public:
  /// The next detour.
  void add(const Ledger& ledger);
  /// Something is missing here: the next sample ends no phase.
  void interrupt() { start_ns_.reset(); }
  /// A sample: true if it ends a phase. 0 iterations start a series. Either way phase() is what was added since the
  /// last one, until more is added.
  bool sample(std::uint64_t end_ns, std::uint64_t iterations);
  [[nodiscard]] const Phase& phase() const { return phase_; }

 private:
  void begin();
  PhaseSource& source(SourceId id);

  Phase phase_;
  bool ended_ = false;  // phase_ is told: what is added next is of another one
  std::optional<std::uint64_t> start_ns_;
};

}  // namespace noised
