// SPDX-License-Identifier: Apache-2.0
// The ledger of a detour: whose each of its nanoseconds was. Pure: no clock, no I/O.
#pragma once

#include <noised/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "attribution/overhead_bounds.h"

namespace noised {

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

/// explained_ns + overhead_ns + outside_ns + unexplained_ns == detour.end_ns - detour.start_ns, always; explained_ns is
/// the sum of the entries' self_ns.
struct Ledger {
  Detour detour;
  std::uint64_t explained_ns = 0;
  std::uint64_t overhead_ns = 0;     ///< entry, exit and cache refill around intervals
  std::uint64_t outside_ns = 0;      ///< no kernel activity: the hypervisor's or the hardware's
  std::uint64_t hypervisor_ns = 0;   ///< the part of it that is the hypervisor's, if somebody divided it
  std::uint64_t unexplained_ns = 0;  ///< the same while events were lost or the clock was in doubt
  std::vector<LedgerEntry> entries;  ///< in order of start
  std::vector<Gap> gaps;             ///< time outside intervals, in order; empty if there is no interval
};

/// Makes the ledger of a detour from the intervals that touch it, in any order. Each instant belongs to the interval
/// that started last among those that cover it, the shorter one of two that started together. Time outside the detour
/// does not count: entries are cut at its edges, and an interval wholly outside (let in by the matcher's tolerance)
/// becomes an entry without time. `ledger` is overwritten; once its vectors have grown nothing is allocated.
class Attributor {
 public:
  void attribute(const Detour& detour, std::span<const Interval> intervals, const OverheadBounds& bounds,
                 Ledger& ledger);

 private:
  struct Open {
    std::uint64_t end_ns;
    std::size_t entry;
  };
  void advance(std::uint64_t to_ns, Ledger& ledger);
  void book_gap(GapPlace place, Kind kind, std::uint64_t end_ns, Ledger& ledger);

  std::vector<Interval> sorted_;
  std::vector<Open> open_;         // the innermost last
  std::uint64_t cursor_ns_ = 0;    // everything before it is booked
  std::uint64_t last_end_ns_ = 0;  // of the intervals closed so far, and which kind that was
  Kind last_kind_ = Kind::none;
};

}  // namespace noised
