// SPDX-License-Identifier: Apache-2.0
// What the victim lost against what noised reports, by source. Pure: an account and detours in, sums out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/views.h"

#include "victim/account.h"

namespace noised::victim {

struct CompareOptions {
  std::uint64_t from_ns = 0;  ///< what is not wholly between the two does not count, together with all that overlaps it
  std::uint64_t to_ns = UINT64_MAX;
  /// What entering and leaving the kernel, or switching to another task and back, can cost around one detour. What a
  /// gap has above the events in it and this was something else, most likely the host. What noised says of overhead has
  /// no part in it.
  std::uint64_t largest_overhead_ns = 50'000;
};

/// One outermost cause: an entry of a detour in no other entry, with all that is nested in it.
struct SourceRow {
  std::string kind;
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t suffered_ns = 0;      ///< of gaps: from the end of the detour before its own to the end of its own, and
                                      ///< beyond if that was the last
  std::uint64_t explained_ns = 0;     ///< reported as time of intervals
  std::uint64_t overhead_ns = 0;      ///< reported as overhead around them
  std::uint64_t not_suffered_ns = 0;  ///< of what was reported: where the victim has no gap

  [[nodiscard]] std::uint64_t reported_ns() const { return explained_ns + overhead_ns; }
  /// Reported over suffered.
  [[nodiscard]] double ratio() const;
};

/// To the nanosecond, gap_ns + late_ns = the sources' suffered_ns + unreported_ns + beside_ns + late_unreported_ns, and
/// reported_ns = the sources' explained_ns + overhead_ns.
struct Comparison {
  std::uint64_t gaps = 0;
  std::uint64_t gap_ns = 0;
  std::uint64_t late_ns = 0;  ///< on its way back from a sleep: noised reports the wait in the run queue only
  std::uint64_t detours = 0;
  std::uint64_t incomplete = 0;  ///< detours that noised itself doubts
  std::uint64_t reported_ns = 0;

  std::uint64_t suffered_ns = 0;         ///< of what was reported
  std::uint64_t unreported_gaps = 0;     ///< without any detour: the host's, or what noised did not see
  std::uint64_t unreported_ns = 0;       ///< in these
  std::uint64_t beside_ns = 0;           ///< in gaps with detours, but more than they and their overhead can have been
  std::uint64_t late_unreported_ns = 0;  ///< lateness without any detour

  std::uint64_t not_suffered_ns = 0;  ///< reported where there is no gap
  std::uint64_t short_ns = 0;         ///< of that: in detours that the victim's threshold hides
  std::uint64_t asleep_ns = 0;        ///< of what was reported: while the victim slept of its own will, which is wrong

  std::vector<SourceRow> sources;  ///< by what was suffered, then reported, falling

  [[nodiscard]] double ratio() const;
};

/// Compares an account with all that was reported for its task, in any order.
Comparison compare(const Account& account, std::vector<DetourView> detours, const CompareOptions& options = {});

/// `total` in parts in proportion to the weights (equal ones if all are 0), which must sum to less than 2^64; the parts
/// sum to it exactly. Empty for none.
std::vector<std::uint64_t> divide(std::uint64_t total, const std::vector<std::uint64_t>& weights);

}  // namespace noised::victim
