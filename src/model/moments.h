// SPDX-License-Identifier: Apache-2.0
// Count, total, extremes, mean and standard deviation of durations, in one pass and mergeable.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/saturating.h"

namespace noised {

/// Running moments of durations in nanoseconds: integers are exact, the deviation is by Welford's method. Deviations
/// are taken from the first duration, not from zero: a double holds integers only up to 2^53, so that without this a
/// spread of a few ns around a far larger duration would be rounded away before it is ever squared.
class Moments {
 public:
  /// Counts one duration.
  void add(std::uint64_t value_ns) {
    if (count_ == 0) origin_ns_ = value_ns;
    count_ = saturating_add(count_, 1);
    total_ns_ = saturating_add(total_ns_, value_ns);
    min_ns_ = std::min(min_ns_, value_ns);
    max_ns_ = std::max(max_ns_, value_ns);

    const double value = from_origin(value_ns);
    const double before = value - mean_;
    mean_ += before / static_cast<double>(count_);
    squares_ += before * (value - mean_);
  }

  /// Adds another set of durations (Chan's formula): integers as if each had been added here, the deviation up to
  /// rounding.
  void merge(const Moments& other);

  /// How many durations; stops at UINT64_MAX.
  [[nodiscard]] std::uint64_t count() const { return count_; }

  /// Their sum in ns, exact; stops at UINT64_MAX (584 years).
  [[nodiscard]] std::uint64_t total_ns() const { return total_ns_; }

  /// The shortest in ns; 0 when there are none.
  [[nodiscard]] std::uint64_t min_ns() const { return count_ == 0 ? 0 : min_ns_; }

  /// The longest in ns; 0 when there are none.
  [[nodiscard]] std::uint64_t max_ns() const { return max_ns_; }

  /// Total over count, rounded to the nearest ns, half up; 0 when there are none.
  [[nodiscard]] std::uint64_t mean_ns() const;

  /// The sample standard deviation (divisor count - 1) in ns; 0 for fewer than two durations.
  [[nodiscard]] double stddev() const;

  /// The same, rounded to the nearest ns.
  [[nodiscard]] std::uint64_t stddev_ns() const;

 private:
  // The difference is taken in integers, where it is exact.
  [[nodiscard]] double from_origin(std::uint64_t value) const {
    return value >= origin_ns_ ? static_cast<double>(value - origin_ns_) : -static_cast<double>(origin_ns_ - value);
  }

  std::uint64_t count_ = 0;
  std::uint64_t total_ns_ = 0;
  std::uint64_t min_ns_ = UINT64_MAX;
  std::uint64_t max_ns_ = 0;
  std::uint64_t origin_ns_ = 0;  // the first duration
  double mean_ = 0;              // of the distances from the origin
  double squares_ = 0;           // sum of the squared distances from the mean
};

}  // namespace noised
