// SPDX-License-Identifier: Apache-2.0
// One watched CPU from its two streams to its statistics: match, attribute, count. Pure: no clock, no I/O.
#pragma once

#include <noised/types.h>

#include <cstdint>

#include "attribution/ledger.h"
#include "attribution/matcher.h"
#include "attribution/overhead_bounds.h"
#include "attribution/steal.h"
#include "pipeline/ledger_counter.h"
#include "statistics/tables.h"
#include "trace/sources.h"

namespace noised {

struct WatchOptions {
  unsigned cpu = 0;
  std::uint64_t threshold_ns = 0;
  Kind outside = Kind::hypervisor;         ///< what a gap without kernel activity is here: hypervisor or hardware
  std::uint64_t steal_step_ns = 0;         ///< if not 0, the hypervisor's only as far as steal time covers it
  std::size_t held_intervals = 1U << 18U;  ///< of the detour that is still going on: 10 MiB, used only if it is long
};

/// How the time of a detour outside its intervals was divided.
struct Division {
  std::uint64_t overhead_ns = 0;
  std::uint64_t hypervisor_ns = 0;
  std::uint64_t hardware_ns = 0;
  std::uint64_t unexplained_ns = 0;
};

class WatchedCpu {
 public:
  WatchedCpu(const WatchOptions& options, const SourceTable& sources);

  /// Every detour that began by `progress_ns` was added.
  void settle(std::uint64_t progress_ns, std::uint64_t tolerance_ns) { matcher_.settle(progress_ns, tolerance_ns); }
  /// The loop observes from this time on.
  void begin(std::uint64_t first_ns) { matcher_.begin(first_ns); }
  /// Adds the interval that ended next; false if it had to be dropped (the caller counts it).
  bool add(const Interval& interval) { return matcher_.add(interval); }
  /// Attributes and counts the next detour, all of whose intervals were added. The result is valid until the next call.
  const Ledger& add(const Detour& detour, std::uint64_t tolerance_ns);
  /// The same for a detour of a recording, which says how it was divided: bounds and steal time are not asked. Null,
  /// and nothing is counted, if that does not add up with the intervals that were added.
  const Ledger* add_recorded(const Detour& detour, std::uint64_t tolerance_ns, const Division& division);
  /// What was added and is still waiting for its detour is forgotten: a recording was interrupted.
  void forget_waiting() { matcher_.skip(UINT64_MAX); }
  /// The loop was not on its CPU, or stopped, for this time: nothing is counted, and what the kernel did in it is not
  /// looked at. Asserts nothing of the detours around it.
  void skip(const Detour& blind);
  /// The loop rested, as it was told to: the same.
  void rest(const Detour& rested);
  /// The steal clock of this CPU moved on by so much since the last call.
  void add_steal(std::uint64_t stolen_ns) { steal_.add(stolen_ns); }
  /// After the last detour; the loop observed until this time.
  void finish(std::uint64_t last_ns) { matcher_.finish(last_ns); }

  [[nodiscard]] const WatchOptions& options() const { return options_; }
  [[nodiscard]] const CpuStatistics& statistics() const { return counter_.statistics(); }
  /// What else is lost on this CPU may be counted there as well.
  [[nodiscard]] LedgerCounter& counter() { return counter_; }
  [[nodiscard]] const Matcher& matcher() const { return matcher_; }
  [[nodiscard]] const StealAccount& steal() const { return steal_; }
  /// Time skipped, in ns, as the next.
  [[nodiscard]] std::uint64_t blind_ns() const { return blind_ns_; }
  [[nodiscard]] std::uint64_t rested_ns() const { return rested_ns_; }

 private:
  void divide_outside();

  WatchOptions options_;
  Matcher matcher_;
  OverheadBounds bounds_;
  StealAccount steal_;
  Attributor attributor_;
  Ledger ledger_;
  LedgerCounter counter_;
  std::uint64_t blind_ns_ = 0;
  std::uint64_t rested_ns_ = 0;
};

}  // namespace noised
