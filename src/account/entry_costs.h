// SPDX-License-Identifier: Apache-2.0
// What an interruption costs a task beside what the kernel's events see of it: from its last instruction to the first
// event, and from the last event to its next instruction. Pure: no clock, no I/O.
#pragma once

#include "model/types.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "account/task_run.h"

namespace noised::account {

/// Of an entry: before its first event, and after its last; at least. What it takes changes with what else a machine
/// does: on a virtual one, the mean before a timer's was 9.2 to 29 us in 11 measurements of a minute, the least 6.5 to
/// 11.5.
struct EntryCost {
  std::uint64_t before_ns = 0;
  std::uint64_t after_ns = 0;
};

/// Both ways of an entry by the timer, of those measured that the host left alone.
struct TimerWays {
  std::uint64_t mean_ns = 0;
  std::uint64_t most_ns = 0;  ///< the longest way in and the longest way out
  std::uint64_t samples = 0;  ///< 0: too few were seen, and nothing is known
};

/// As measured on this machine for a task in user mode; 0: not known, and nothing is told. Of other interrupts than the
/// timer's, what they cost changes too much to be told: an IPI's was 11.5 us in one second and 6.1 us in another.
struct EntryCosts {
  EntryCost timer;                    ///< the timer of the CPU
  std::uint64_t switched_in_ns = 0;   ///< mean: after the switch back to a preempted task
  std::uint64_t switched_out_ns = 0;  ///< between an interrupt and the switch that it brought about: at most this
  TimerWays timer_ways;               ///< of which `timer` is the least

  /// Of an interruption that begins with this; zeros for what is not the timer.
  [[nodiscard]] EntryCost of(const Interval& first) const;
  /// What an interruption took beside what is told of it, `told`; its intervals are in order of their start. Nothing
  /// where that is not known: of what does not begin with the timer. One that ended in a switch had no way out; it has
  /// one here, some 300 ns.
  [[nodiscard]] std::optional<Untold> untold(std::span<const Interval> intervals, const Detour& told) const;
  /// In less time nothing returns to a task and interrupts it again.
  [[nodiscard]] std::uint64_t shortest_return_ns() const;
};

/// Learns the costs from a task that saw its own gaps.
class EntryLearner {
 public:
  static constexpr std::size_t kEnough = 16;  ///< from fewer gaps nothing is learned

  /// Something that the task lost, as the kernel's events tell; in order of time. No costs were added to it.
  void add(const Loss& loss, std::span<const Interval> intervals);
  /// What the losses cost beside their events, by the gaps in which they lie; these are in order of time, too.
  [[nodiscard]] EntryCosts learn(std::span<const Detour> gaps) const;

 private:
  struct Lost {
    Loss loss;
    Interval first;
  };
  struct Samples;
  static void add_gap(const Detour& gap, std::span<const Lost> losses, Samples& samples);

  std::vector<Lost> losses_;
};

}  // namespace noised::account
