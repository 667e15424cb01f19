// SPDX-License-Identifier: Apache-2.0
// Everything that phases tell of a CPU, in one pass over its recording. Pure.
#pragma once

#include "model/types.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/fixed_work/indirect_cost.h"
#include "analysis/fixed_work/phase_durations.h"
#include "analysis/fixed_work/phase_episodes.h"
#include "model/sources.h"

namespace noised::analysis {

/// What a source took directly: in phases, and in the same recording outside of them (before the first, or where the
/// series has a gap). Both together are the report's count and total.
struct DirectCost {
  std::uint64_t count = 0;
  std::uint64_t self_ns = 0;
  std::uint64_t outside_count = 0;
  std::uint64_t outside_ns = 0;
};

/// The phases after an activation that still pay for it: those in which the work comes by all of its footprint once
/// (one line of 64 bytes an iteration), or that last 10 us, as loop and stack are refilled, too. None where that is
/// less than a twentieth of a phase: then what is missed, in the mean half of it, is less than 2.5% of the cost. At
/// most 4096.
std::size_t phases_paying(std::uint64_t phase_ns, std::uint64_t iterations, std::uint64_t footprint_bytes);

/// Takes the events of one CPU as they were recorded. Memory is that of its tables: patterns of episodes, and sources.
class PhaseAnalysis {
 public:
  /// `reach`: phases_paying(); `sources` must outlive this.
  PhaseAnalysis(const SourceTable& sources, std::size_t reach) : sources_(sources), episodes_(reach) {}

  void add(const account::DetourLedger& ledger);
  void interrupt();
  void sample(std::uint64_t end_ns, std::uint64_t iterations);
  /// Nothing will follow; to be called once.
  void finish();

  [[nodiscard]] const PhaseDurations& durations() const { return durations_; }
  [[nodiscard]] const PhaseEpisodes& episodes() const { return episodes_; }
  /// By SourceId, those of overhead, hypervisor, hardware and unexplained among them.
  [[nodiscard]] const std::vector<DirectCost>& direct() const { return direct_; }

 private:
  void count(bool whole);
  void count(SourceId id, const PhaseSource& source, bool whole);

  const SourceTable& sources_;
  PhaseSeries series_;
  bool waiting_ = false;  // detours since the last sample
  PhaseDurations durations_;
  PhaseEpisodes episodes_;
  std::vector<DirectCost> direct_;
};

}  // namespace noised::analysis
