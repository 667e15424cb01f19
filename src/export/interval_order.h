// SPDX-License-Identifier: Apache-2.0
// Intervals come in the order in which they ended; those who draw them want each before what is nested in it.
#pragma once

#include <noised/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace noised {

/// The intervals of one CPU.
class IntervalOrder {
 public:
  using Take = std::function<void(const Interval& interval)>;
  /// Where a loop stays away for long more would be held: all of them go on then, and one around them comes late.
  static constexpr std::size_t kMostHeld = std::size_t{1} << 16U;

  /// Holds the interval that ended next.
  void add(const Interval& interval, const Take& take);
  /// Gives away those that began by this time, in order of their start, an enclosing one before what it encloses.
  /// Nothing that encloses them may be still to come, which is so once the detour that ends then was told.
  void release(std::uint64_t until_ns, const Take& take);
  [[nodiscard]] std::size_t held() const { return held_.size(); }

 private:
  struct Held {
    Interval interval;
    std::uint64_t number;  // in the order in which they came
  };

  std::vector<Held> held_;
  std::uint64_t came_ = 0;
};

}  // namespace noised
