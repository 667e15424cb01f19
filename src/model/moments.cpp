// SPDX-License-Identifier: Apache-2.0
// Welford's update and Chan's merge, on distances from the first duration.
#include "model/moments.h"

#include <algorithm>
#include <cmath>

#include "base/saturating.h"

namespace noised {

void Moments::merge(const Moments& other) {
  if (other.count_ == 0) return;
  if (count_ == 0) {
    *this = other;
    return;
  }
  const auto ours = static_cast<double>(count_);
  const auto theirs = static_cast<double>(other.count_);
  const double apart = from_origin(other.origin_ns_) + (other.mean_ - mean_);
  squares_ += other.squares_ + apart * apart * (ours * (theirs / (ours + theirs)));
  mean_ += apart * (theirs / (ours + theirs));

  count_ = saturating_add(count_, other.count_);
  total_ns_ = saturating_add(total_ns_, other.total_ns_);
  min_ns_ = std::min(min_ns_, other.min_ns_);
  max_ns_ = std::max(max_ns_, other.max_ns_);
}

std::uint64_t Moments::mean_ns() const {
  if (count_ == 0) return 0;
  const std::uint64_t rest = total_ns_ % count_;
  return total_ns_ / count_ + (rest >= count_ - rest ? 1 : 0);
}

double Moments::stddev() const {
  if (count_ < 2) return 0;
  return std::sqrt(squares_ / static_cast<double>(count_ - 1));
}

std::uint64_t Moments::stddev_ns() const {
  // At most UINT64_MAX / sqrt(2), for 0 and UINT64_MAX: it always fits.
  return static_cast<std::uint64_t>(std::round(stddev()));
}

}  // namespace noised
