// SPDX-License-Identifier: Apache-2.0
// What happened on one CPU lately, so that a task that waited for it can be told who had it. Pure: no clock, no I/O.
#pragma once

#include <noised/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace noised {

/// Intervals in the order in which they ended; those since the last close() belong to the task that has the CPU.
class Timeline {
 public:
  /// Holds the newest `capacity` intervals of the past, and twice as many for a moment.
  explicit Timeline(std::size_t capacity) : capacity_(capacity) {}

  /// Adds the interval that ended next.
  void add(const Interval& interval) { held_.push_back(interval); }
  /// Those added since the last close(); valid until the next call.
  [[nodiscard]] std::span<const Interval> open() const { return std::span(held_).subspan(open_); }
  /// The first `count` of open() become the past.
  void close(std::size_t count);
  /// The intervals of the past that touch the time from `from_ns` to `to_ns`, into `out`; false if others may have,
  /// and were forgotten. Nothing lasts beyond the end of a task's run there (the programs split it).
  bool touching(std::uint64_t from_ns, std::uint64_t to_ns, std::vector<Interval>& out) const;

 private:
  std::size_t capacity_;
  std::vector<Interval> held_;
  std::size_t open_ = 0;            // held_[open_...] are open
  std::uint64_t forgotten_ns_ = 0;  // the latest end of those forgotten
};

}  // namespace noised
