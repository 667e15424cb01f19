// SPDX-License-Identifier: Apache-2.0
// Who makes up a peak: the sources and combinations whose durations lie in a range.
#pragma once

#include "model/types.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "account/attributor.h"
#include "model/combinations.h"
#include "model/moments.h"
#include "model/sources.h"

namespace noised::analysis {

/// The durations next to a range in which there are none, in ns.
struct Neighbours {
  std::optional<std::uint64_t> below_ns;
  std::optional<std::uint64_t> above_ns;

  void add(std::uint64_t value_ns, std::uint64_t low_ns, std::uint64_t high_ns);
};

/// Counts the detours, and the self times of sources, between two durations, both included. Memory grows with sources
/// and combinations only, as in CpuStatistics.
class PeakCounter {
 public:
  struct SourceCount {
    SourceId id = 0;
    Moments moments;
  };

  /// `sources` must outlive this.
  PeakCounter(const SourceTable& sources, std::uint64_t low_ns, std::uint64_t high_ns)
      : sources_(sources), low_ns_(low_ns), high_ns_(high_ns) {}

  /// Takes the next detour.
  void add(const account::DetourLedger& ledger);

  [[nodiscard]] const Moments& detours() const { return detours_; }
  [[nodiscard]] const CombinationTable& combinations() const { return combinations_; }
  /// Those with a self time in the range.
  [[nodiscard]] std::vector<SourceCount> source_counts() const;
  /// Those that were only counted: faults of a kernel that refuses to time them. They are in no range.
  [[nodiscard]] std::vector<SourceCount> untimed() const;
  [[nodiscard]] const Neighbours& next_detours() const { return next_detours_; }
  [[nodiscard]] Neighbours next_self_times() const;

 private:
  // Of 0 ns, and whether any took longer: only then 0 ns was measured, too.
  struct Faults {
    Moments instants;
    bool timed = false;
  };
  void add_self_time(SourceId source, std::uint64_t self_ns);
  void add_fault(SourceId source, std::uint64_t self_ns);
  void note_source(SourceId source);

  const SourceTable& sources_;
  std::uint64_t low_ns_;
  std::uint64_t high_ns_;
  Moments detours_;
  CombinationTable combinations_;
  std::vector<Moments> counts_;  // by source
  std::vector<Faults> faults_;   // by source
  std::vector<SourceId> combination_;
  Neighbours next_detours_;
  Neighbours next_self_times_;
};

}  // namespace noised::analysis
