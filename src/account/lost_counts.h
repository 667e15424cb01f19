// SPDX-License-Identifier: Apache-2.0
// What one watched CPU lost, by reason, and which of its detours that touches.
#pragma once

#include "model/report.h"
#include "model/types.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "system/kernel_events.h"

namespace noised::account {

/// More than a ring of any size holds: a drain ends even if the kernel produces faster than we read.
inline constexpr std::size_t kDrainLimit = std::size_t{1} << 20U;
/// The kernel's programs read a clock that, while it is being adjusted, may be a hair ahead of ours: a record that ends
/// later than that after now is bad.
inline constexpr std::uint64_t kAheadNs = 1'000'000;

/// Everything that was not told of one CPU, or in all (missed runs, origins), since the start.
struct LossCounts {
  system::LostCounters kernel;   ///< by the BPF programs
  std::uint64_t detours = 0;     ///< the loop's ring was full
  std::uint64_t samples = 0;     ///< likewise: of its work, so that its series has holes
  std::uint64_t bad = 0;         ///< records that cannot be true
  std::uint64_t refused = 0;     ///< the pipeline had no room for intervals
  std::uint64_t impossible = 0;  ///< detours that end before they begin: the counter went back
  std::uint64_t uncertain = 0;   ///< detours whose times are not known well enough to find their causes
  std::uint64_t stopped = 0;     ///< times when the loop was stopped or waited
  std::uint64_t moved = 0;       ///< times when it was on another CPU
  std::uint64_t blind = 0;       ///< interrupts that the kernel counted while next to nothing was seen (blindness.h)
};

/// The reasons of add_losses(), and those that concern no CPU or all of them.
inline constexpr std::array kCpuLossReasons = {
    "ring_full",     "ring_busy_in_nmi", "stack_full",     "bad_record",       "unfinished_record",
    "pipeline_full", "detour_ring_full", "clock_backward", "clock_uncertain",  "unpaired",
    "unseen_switch", "loop_stopped",     "loop_moved",     "sample_ring_full", kBlind};
inline constexpr std::array kMachineLossReasons = {"missed_run",   "origin_ring_full", "bad_record",
                                                   "clock_step",   "clock_source",     "task_table_full",
                                                   "wakeups_full", "sends_full",       "calls_full"};

/// Adds the counts of a CPU to the report's.
void add_losses(unsigned cpu, const LossCounts& counts, ReportLost& lost);
/// Adds one reason, unless its count is 0; `cpu` nothing: the kernel does not tell which.
void add_loss(std::optional<unsigned> cpu, const char* reason, std::uint64_t count, ReportLost& lost);

/// Times of one CPU in which something was lost or cannot be known.
class DoubtfulTimes {
 public:
  explicit DoubtfulTimes(std::uint64_t begin_ns) : looked_ns_(begin_ns) {}

  /// The counters were looked at again, beginning at `began_ns`: what was lost since the last look was lost in between,
  /// and every detour that touches that time is in doubt, those of the next drain too that began before it.
  void look(bool lost, std::uint64_t began_ns, std::uint64_t ended_ns);
  /// What the last look found lost was lost since then.
  void reach_back(std::uint64_t since_ns);
  /// Marks of this drain: tasks were switched in at these times and never seen to leave.
  std::vector<std::uint64_t>& unseen_ns() { return unseen_ns_; }
  /// Marks since the last detour: the loop gave the CPU away at these times. Its detour may come a drain later.
  std::vector<std::uint64_t>& stopped_ns() { return stopped_ns_; }

  [[nodiscard]] bool touch(const Detour& detour) const;
  /// True if the loop gave the CPU away in this detour; marks up to its end are forgotten.
  [[nodiscard]] bool take_stopped(const Detour& detour);

 private:
  std::uint64_t looked_ns_;
  std::uint64_t from_ns_ = 0;  // something was lost between these two times
  std::uint64_t until_ns_ = 0;
  std::vector<std::uint64_t> unseen_ns_;  // rising, as the next
  std::vector<std::uint64_t> stopped_ns_;
};

}  // namespace noised::account
