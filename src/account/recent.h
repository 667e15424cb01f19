// SPDX-License-Identifier: Apache-2.0
// The last minute: what CPUs lost since a moment that moves on, in slots. Pure: no clock, no I/O.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "account/attributor.h"
#include "model/moments.h"
#include "model/report.h"
#include "model/sources.h"
#include "model/tables.h"
#include "model/types.h"

namespace noised::account {

/// What counts as lately: the slot that goes on and those before it, so 60 s and up to 10 more.
inline constexpr std::size_t kRecentSlots = 7;
inline constexpr std::uint64_t kRecentSlotNs = 10'000'000'000;

/// How many slots have the last `ns`, which are at most a minute: the one that goes on may have just begun.
constexpr std::size_t recent_slots_of(std::uint64_t ns) {
  return static_cast<std::size_t>(std::min((ns + kRecentSlotNs - 1) / kRecentSlotNs + 1, std::uint64_t{kRecentSlots}));
}

/// What one source took, and how much of that in the longest detour.
struct RecentSource {
  SourceId id = 0;
  Kind kind = Kind::none;
  Moments moments;
  std::uint64_t longest_ns = 0;
};

/// What one CPU lost.
struct RecentCounts {
  DetourTotals totals;
  std::vector<RecentSource> sources;  ///< each once
};

/// The slots of one CPU. What is counted, is so in the slot that goes on: slots are times of drains, not of detours.
class RecentStatistics {
 public:
  /// `sources` outlives this.
  explicit RecentStatistics(const SourceTable& sources) : sources_(sources), row_of_(SourceTable::kCapacity, 0) {}

  /// Counts a ledger, in some 10 ns an entry (tests/bench/run pipeline, with and without). Allocates only where a slot
  /// has more sources than it ever had.
  void count(const DetourLedger& ledger);
  /// The next slot begins; the oldest is forgotten.
  void turn();
  /// Names leave: what was counted of them becomes a part of where they go.
  void let_go(const Departures& departures);
  /// The sums of so many slots, the last of them the one that goes on, into `out`, whose memory is used again.
  void sum_to(RecentCounts& out, std::size_t slots = kRecentSlots) const;

 private:
  RecentSource& row(SourceId id, Kind kind);

  const SourceTable& sources_;
  std::array<RecentCounts, kRecentSlots> slots_;
  std::size_t current_ = 0;
  std::vector<std::uint32_t> row_of_;  // by slot of a source: its row in the current slot, from 1; 0: it has none
};

/// What was counted of a machine until a moment, in ns since the start.
struct RecentMark {
  struct Cpu {
    std::uint64_t observed_ns = 0;
    std::uint64_t iterations = 0;
    std::uint64_t blind_ns = 0;
    std::uint64_t steal_ns = 0;
  };
  std::uint64_t elapsed_ns = 0;
  ReportLost lost;
  std::vector<Cpu> cpus;  ///< by place; empty: nothing was
};

/// When each slot began.
class RecentMarks {
 public:
  /// The next slot begins with this mark, which the caller fills; the oldest is forgotten.
  RecentMark& turn() {
    current_ = (current_ + 1) % kRecentSlots;
    turned_ += turned_ < kRecentSlots ? 1 : 0;
    return marks_[current_];
  }
  /// The begin of the first of so many slots, the last of them the one that goes on; of the oldest where there are no
  /// more.
  [[nodiscard]] const RecentMark& begin_of(std::size_t slots) const {
    const std::size_t before = std::min({slots, turned_ + 1, kRecentSlots}) - 1;
    return marks_[(current_ + kRecentSlots - before) % kRecentSlots];
  }

 private:
  std::array<RecentMark, kRecentSlots> marks_;  // the first is the start
  std::size_t current_ = 0;
  std::size_t turned_ = 0;
};

/// What was lost in between: each counter and each reason. One that has gone back, as a damaged file may say, is 0.
ReportLost lost_between(const ReportLost& before, const ReportLost& after);

}  // namespace noised::account
