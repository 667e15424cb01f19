// SPDX-License-Identifier: Apache-2.0
// Everything that is counted about one watched CPU: its detours, their sources and their combinations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/types.h"

#include "model/combinations.h"
#include "model/histogram.h"
#include "model/lazy.h"
#include "model/ledger.h"
#include "model/moments.h"
#include "model/sources.h"

namespace noised {

/// The ledgers of all detours of a CPU, in ns; the five parts sum to detour_ns.
struct DetourTotals : Ledger {
  std::uint64_t detours = 0;
  std::uint64_t incomplete_detours = 0;
  std::uint64_t detour_ns = 0;
  std::uint64_t max_detour_ns = 0;

  /// Counts one detour. Asserts that its ledger adds up.
  void add(const Detour& detour, const Ledger& ledger);
  /// Counts what another has counted.
  void merge(const DetourTotals& other);
};

/// What one source took from the CPU: moments and histogram of its self times.
struct SourceStatistics {
  SourceId id = 0;
  Kind kind = Kind::none;
  std::uint64_t stretched = 0;  ///< self times of which some was provably the host's,
  std::uint64_t stolen_ns = 0;  ///< and how much of them
  std::uint32_t pid = 0;        ///< of the task that took all of it; 0: it is no task, or several have this name,
  bool several = false;         ///< which is known then
  Moments moments;
  Histogram histogram;
};

/// The statistics of one CPU. Memory grows with sources, octaves and combinations never seen before and with nothing
/// else: about 1 to 2 KiB a source. Not synchronised: readers work on a copy.
class CpuStatistics {
 public:
  explicit CpuStatistics(std::uint32_t combination_limit = CombinationTable::kDefaultLimit)
      : combinations_(combination_limit) {}

  /// Counts one detour. Asserts that its ledger adds up.
  void add_detour(const Detour& detour, const Ledger& ledger);

  /// Counts one self time, in ns, of a source; of a task also its pid. Its slot indexes a table here; not of
  /// kOtherSource.
  void add_source(SourceId id, Kind kind, std::uint64_t self_ns, std::uint32_t pid = 0);

  /// So much of a self time that was counted of this source was the host's; `again`: not all that was of that one.
  void add_stolen(SourceId id, std::uint64_t stolen_ns, bool again);

  /// Counts the combination of one detour: its sources, each once, in order of their first start.
  void add_combination(std::span<const SourceId> ordered_unique, std::uint64_t detour_ns);

  /// What was counted of each becomes a part of where it goes. Told before their slots are used again.
  void let_go(const Departures& departures);

  /// Makes `other` equal to this, reusing its memory: allocates only for what `other` has not held before.
  void copy_to(CpuStatistics& other) const;
  /// The same, but for the histograms of single sources and the combinations, of which `other` keeps what it has: a
  /// tenth of the bytes.
  void copy_summary_to(CpuStatistics& other) const;

  [[nodiscard]] const DetourTotals& totals() const { return totals_; }

  /// The durations of all detours.
  [[nodiscard]] const Histogram& detours() const { return detours_; }

  /// The statistics of a source, or null when it was never seen on this CPU.
  [[nodiscard]] const SourceStatistics* source(SourceId id) const {
    const std::size_t slot = SourceTable::slot_of(id);
    const SourceStatistics* const found = slot < sources_.size() ? sources_[slot].get() : nullptr;
    return found != nullptr && found->id == id ? found : nullptr;
  }

  /// Calls visit(const SourceStatistics&) for every source seen on this CPU, in order of their slots.
  template <typename Visit>
  void for_each_source(Visit&& visit) const {
    for (const Lazy<SourceStatistics>& source : sources_) {
      if (source.get() != nullptr) visit(*source.get());
    }
  }

  /// The combinations of all detours.
  [[nodiscard]] const CombinationTable& combinations() const { return combinations_; }

 private:
  DetourTotals totals_;
  Histogram detours_;
  SourceStatistics& row(SourceId id, Kind kind);

  std::vector<Lazy<SourceStatistics>> sources_;  // by slot
  CombinationTable combinations_;
};

}  // namespace noised
