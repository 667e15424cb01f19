// SPDX-License-Identifier: Apache-2.0
// The CPU of a loop, from its two streams to its statistics: match, attribute, count. Pure: no clock, no I/O.
#pragma once

#include "model/types.h"

#include <cstdint>

#include "account/attributor.h"
#include "account/ledger_counter.h"
#include "account/matcher.h"
#include "account/overhead_bounds.h"
#include "account/steal_marks.h"
#include "model/ledger.h"
#include "model/sources.h"
#include "model/tables.h"

namespace noised::account {

struct WatchOptions {
  unsigned cpu = 0;
  std::uint64_t threshold_ns = 0;
  Kind outside = Kind::hypervisor;         ///< what a gap without kernel activity is here: hypervisor or hardware
  std::size_t held_intervals = 1U << 18U;  ///< of the detour that is still going on: 10 MiB, used only if it is long
};

class LoopCpu {
 public:
  LoopCpu(const WatchOptions& options, const SourceTable& sources);

  /// Every detour that began by `progress_ns` was added.
  void settle(std::uint64_t progress_ns, std::uint64_t tolerance_ns) { matcher_.settle(progress_ns, tolerance_ns); }
  /// The loop observes from this time on.
  void begin(std::uint64_t first_ns) { matcher_.begin(first_ns); }
  /// Adds the interval that ended next; false if it had to be dropped (the caller counts it).
  bool add(const Interval& interval) { return matcher_.add(interval); }
  /// Attributes and counts the next detour, all of whose intervals were added. The result is valid until the next call.
  const DetourLedger& add(const Detour& detour, std::uint64_t tolerance_ns);
  /// The same for a detour of a recording, which says how it was divided: bounds are not asked, and
  /// explained_ns is what the intervals say. Null, and nothing is counted, if the parts then do not add up.
  const DetourLedger* add_recorded(const Detour& detour, std::uint64_t tolerance_ns, Ledger parts);
  /// What was added and is still waiting for its detour is forgotten: a recording was interrupted.
  void forget_waiting() {
    matcher_.skip(UINT64_MAX);
    steal_marks_.forget();
  }
  /// The loop was not on its CPU, or stopped, for this time: nothing is counted, and what the kernel did in it is not
  /// looked at. Asserts nothing of the detours around it.
  void skip(const Detour& blind);
  /// The loop rested, as it was told to: the same.
  void rest(const Detour& rested);
  /// Some of this time was stolen; before the first detour that begins after it.
  void add(const StealWindow& window) { steal_marks_.add(window); }
  /// After the last detour; the loop observed until this time.
  void finish(std::uint64_t last_ns) { matcher_.finish(last_ns); }

  [[nodiscard]] const WatchOptions& options() const { return options_; }
  [[nodiscard]] const CpuStatistics& statistics() const { return counter_.statistics(); }
  /// What else is lost on this CPU may be counted there as well.
  [[nodiscard]] LedgerCounter& counter() { return counter_; }
  [[nodiscard]] const LedgerCounter& counter() const { return counter_; }
  [[nodiscard]] const Matcher& matcher() const { return matcher_; }
  [[nodiscard]] const OverheadBounds& bounds() const { return bounds_; }
  /// Time skipped, in ns, as the next.
  [[nodiscard]] std::uint64_t blind_ns() const { return blind_ns_; }
  [[nodiscard]] std::uint64_t rested_ns() const { return rested_ns_; }

 private:
  void count();

  WatchOptions options_;
  Matcher matcher_;
  OverheadBounds bounds_;
  Attributor attributor_;
  DetourLedger ledger_;
  StealMarks steal_marks_;
  LedgerCounter counter_;
  std::uint64_t blind_ns_ = 0;
  std::uint64_t rested_ns_ = 0;
};

}  // namespace noised::account
