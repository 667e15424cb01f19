// SPDX-License-Identifier: Apache-2.0
// Which intervals belong to which detour of a CPU, and how many belong to none. Pure: no clock, no I/O.
#pragma once

#include "model/types.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace noised::account {

/// The proof that loop and kernel agree (design.md, "containment"), over intervals longer than the threshold.
struct Containment {
  std::uint64_t eligible = 0;
  std::uint64_t contained = 0;

  /// The share contained; nothing while no interval was eligible.
  [[nodiscard]] std::optional<double> share() const {
    if (eligible == 0) return std::nullopt;
    return static_cast<double>(contained) / static_cast<double>(eligible);
  }
};

/// Holds intervals, in the order in which they ended, until the detour around them is known.
class Matcher {
 public:
  struct Match {
    std::span<const Interval> intervals;  ///< valid until the next call
    bool partial = false;                 ///< one of them sticks out of the detour by more than the tolerance; it is
                                          ///< an orphan too, since it is inside no detour
  };

  /// `threshold_ns`: the loop's; shorter intervals need not be in a detour. `capacity`: intervals held at most.
  Matcher(std::uint64_t threshold_ns, std::size_t capacity);
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  /// From when the loop observed; intervals that started earlier are matched, but neither eligible nor orphans.
  void begin(std::uint64_t first_ns) { first_ns_ = first_ns; }
  /// Adds the interval that ended next; false if there is no room (the caller counts it as lost).
  bool add(const Interval& interval) {
    if (held() >= capacity_) return false;
    held_.push_back(interval);
    return true;
  }
  /// Takes the intervals of the next detour, given in order of time, and forgets those that ended before it: they lie
  /// in no detour. An interval may stick out by `tolerance_ns`, the uncertainty of the clock mapping.
  Match take(const Detour& detour, std::uint64_t tolerance_ns);
  /// A time until when the CPU was not observed: intervals that began by then are forgotten, and count for nothing.
  void skip(std::uint64_t until_ns);
  /// Every detour that began by `progress_ns` was taken: what ended by then, less the tolerance, lies in none, and
  /// never will. Without this, intervals of a CPU without detours would wait for ever, and count against nobody.
  void settle(std::uint64_t progress_ns, std::uint64_t tolerance_ns);
  /// After the last detour: what ended by `last_ns` lies in none; what ended later was not observed.
  void finish(std::uint64_t last_ns);

  [[nodiscard]] const Containment& containment() const { return containment_; }
  /// Intervals of any length in no detour.
  [[nodiscard]] std::uint64_t orphans() const { return orphans_; }
  /// How many have a place, those forgotten by skip() among them as long as one before them waits.
  [[nodiscard]] std::size_t held() const { return held_.size() - head_; }
  /// Those that wait for their detour.
  [[nodiscard]] std::vector<Interval> waiting() const;

 private:
  /// What was added as one of the first `before` and began by `until_ns` is forgotten.
  struct Skip {
    std::uint64_t before = 0;
    std::uint64_t until_ns = 0;
  };
  bool skipped(std::size_t at);
  void count(const Interval& interval, bool contained);
  void drop_taken();

  std::uint64_t threshold_ns_;
  std::size_t capacity_;
  std::uint64_t first_ns_ = 0;
  std::vector<Interval> held_;
  std::size_t head_ = 0;       // held_[head_...] are waiting, but for what is skipped
  std::uint64_t dropped_ = 0;  // were added before held_[0]
  std::deque<Skip> skips_;     // `before` rises, `until_ns` falls: the first that counts for an interval decides
  std::vector<Interval> matched_;
  Containment containment_;
  std::uint64_t orphans_ = 0;
};

}  // namespace noised::account
