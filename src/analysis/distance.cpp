// SPDX-License-Identifier: Apache-2.0
// One walk through the buckets of both.
#include "analysis/distance.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace noised {

std::optional<double> distance(const Histogram& left, const Histogram& right) {
  if (left.count() == 0 || right.count() == 0) return std::nullopt;
  std::map<std::uint64_t, double> steps;  // how far the shares move apart in this bucket
  const auto add = [&](const Histogram& histogram, double sign) {
    const auto count = static_cast<double>(histogram.count());
    histogram.for_each([&](const HistogramBucket& bucket) {
      steps[bucket.low_ns] += sign * (static_cast<double>(bucket.count) / count);
    });
  };
  add(left, 1);
  add(right, -1);
  double apart = 0;
  double largest = 0;
  for (const auto& step : steps) {
    apart += step.second;
    largest = std::max(largest, std::abs(apart));
  }
  return std::min(largest, 1.0);
}

}  // namespace noised
