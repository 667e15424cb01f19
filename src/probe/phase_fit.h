// SPDX-License-Identifier: Apache-2.0
// Fits phases of work to a grain, on the CPU that will run them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "probe/phase_loop.h"

namespace noised::probe {

// How many iterations take as long as a phase shall (Tsafrir 2005, section 3.1, "Calibration"). Pure: no clock.

/// The mean of the second decile of these times, the shortest tenth of them left out: where the vertical part of their
/// distribution is, as some are shorter by chance, and many longer by noise. They get sorted; there is at least one.
double second_decile(std::vector<std::uint64_t>& ticks);

/// Approaches the work of a phase round by round: what a round of phases took tells how many iterations the next is to
/// have. A long phase is a multiple of a shorter one that was tried, as the paper's are.
class PhaseCalibration {
 public:
  static constexpr unsigned kMostRounds = 6;
  /// Good enough.
  static constexpr double kWantedDeviation = 0.01;

  /// `longest_ticks`: of the phases to try.
  PhaseCalibration(std::uint64_t grain_ticks, std::uint64_t longest_ticks);

  /// No more rounds: what was nearest is close enough, or will not get closer.
  [[nodiscard]] bool done() const { return done_; }
  /// Of the phases of the next round.
  [[nodiscard]] std::uint64_t next_iterations() const { return next_; }
  /// What the phases of this round should take.
  [[nodiscard]] std::uint64_t tried_ticks() const { return tried_ticks_; }
  /// A round: how long each of its phases took; none, where not one came to its end.
  void add(std::vector<std::uint64_t>& ticks);

  /// Of a whole phase; at least 1.
  [[nodiscard]] std::uint64_t iterations() const;
  /// By how much a phase is longer (or, negative, shorter) than it should be, as a part of it; 1 if that is not known.
  [[nodiscard]] double deviation() const { return deviation_; }

 private:
  double scale_ = 1;  // from phases that are tried to whole ones
  std::uint64_t tried_ticks_;
  std::uint64_t next_;
  std::uint64_t best_;
  double deviation_ = 1;
  bool tried_ = false;  // a round had phases
  unsigned rounds_ = 0;
  bool done_ = false;
};

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

}  // namespace noised::probe
