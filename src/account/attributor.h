// SPDX-License-Identifier: Apache-2.0
// The ledger of a detour: whose each of its nanoseconds was. Pure: no clock, no I/O.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "account/overhead_bounds.h"
#include "model/ledger.h"
#include "model/types.h"

namespace noised::account {

/// One interval of a detour, with the time that was its own and not a nested one's.
struct LedgerEntry {
  SourceId source = 0;
  Kind kind = Kind::none;
  std::uint8_t flags = 0;      ///< noised_flags of abi.h
  std::uint8_t depth = 0;      ///< intervals around it
  std::uint64_t start_ns = 0;  ///< not before the detour's
  std::uint64_t self_ns = 0;
  std::uint64_t id = 0;     ///< of the interval
  std::uint32_t cause = 0;  ///< of the interval
};

/// The five parts sum to detour.end_ns - detour.start_ns, always; explained_ns is the sum of the entries' self_ns.
struct DetourLedger : Ledger {
  Detour detour;
  std::vector<LedgerEntry> entries;  ///< in order of start
  std::vector<Gap> gaps;             ///< time outside intervals, in order; empty if there is no interval
};

/// Makes the ledger of a detour from the intervals that touch it, in any order. Each instant belongs to the interval
/// that started last among those that cover it, the shorter one of two that started together. Time outside the detour
/// does not count: entries are cut at its edges, and an interval wholly outside (let in by the matcher's tolerance)
/// becomes an entry without time. `ledger` is overwritten; once its vectors have grown nothing is allocated.
class Attributor {
 public:
  /// `outside`: whose time without kernel activity is on this machine, the hypervisor's or the hardware's.
  explicit Attributor(Kind outside = Kind::hypervisor) : outside_(outside) {}

  void attribute(const Detour& detour, std::span<const Interval> intervals, const OverheadBounds& bounds,
                 DetourLedger& ledger);

 private:
  struct Open {
    std::uint64_t end_ns;
    std::size_t entry;
  };
  void advance(std::uint64_t to_ns, DetourLedger& ledger);
  void book_gap(GapPlace place, Kind kind, std::uint64_t end_ns, DetourLedger& ledger);
  void settle(const OverheadBounds& bounds, DetourLedger& ledger) const;

  Kind outside_;
  std::vector<Interval> sorted_;
  std::vector<Open> open_;         // the innermost last
  std::uint64_t cursor_ns_ = 0;    // everything before it is booked
  std::uint64_t last_end_ns_ = 0;  // of the intervals closed so far, and which kind that was
  Kind last_kind_ = Kind::none;
};

/// Gives each fault the time of its handling: the instant becomes an interval from the fault to the handling's end, and
/// the record of the handling goes away. A handling without a fault just before it stays as it is: the kernel asked for
/// a page on behalf of a task (get_user_pages). `intervals` are those of one detour, sorted by start.
void join_faults(std::vector<Interval>& intervals);

}  // namespace noised::account
