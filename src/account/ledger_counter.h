// SPDX-License-Identifier: Apache-2.0
// From ledgers to statistics. Pure: no clock, no I/O.
#pragma once

#include "model/types.h"

#include <cstdint>
#include <vector>

#include "account/attributor.h"
#include "account/recent.h"
#include "model/sources.h"
#include "model/tables.h"

namespace noised::account {

/// What tasks took under a name that anybody may read.
struct PublicSum {
  std::uint64_t ns = 0;
  std::uint64_t times = 0;
};

class LedgerCounter {
 public:
  /// `sources` outlives this.
  explicit LedgerCounter(const SourceTable& sources);

  /// Counts a ledger: its sums, the self times of its sources, and their combination.
  void count(const DetourLedger& ledger);
  /// Counts a task of a ledger also under its public name, an id of another table of sources.
  void count_public(SourceId name, std::uint64_t self_ns);
  /// By slot of that table; shorter where the rest has nothing.
  [[nodiscard]] const std::vector<PublicSum>& public_sums() const { return public_sums_; }
  /// So much of a self time, or of a gap of this kind, was the host's; as CpuStatistics::add_stolen().
  void count_stolen(SourceId source, Kind kind, std::uint64_t stolen_ns, bool again);
  /// Names leave: what was counted of them becomes a part of where they go.
  void let_go(const Departures& departures);
  [[nodiscard]] const CpuStatistics& statistics() const { return statistics_; }
  /// The last minute of the same, where somebody tells it when slots end.
  [[nodiscard]] RecentStatistics& recent() { return recent_; }
  [[nodiscard]] const RecentStatistics& recent() const { return recent_; }

 private:
  void count_gap(Kind kind, std::uint64_t ns);
  void note_source(SourceId source);

  const SourceTable& sources_;
  CpuStatistics statistics_;
  RecentStatistics recent_;
  std::vector<PublicSum> public_sums_;
  std::vector<SourceId> combination_;
  std::vector<std::uint64_t> seen_in_;  // by slot: the number of the last detour that had it
  std::uint64_t detour_number_ = 0;
};

}  // namespace noised::account
