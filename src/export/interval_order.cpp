// SPDX-License-Identifier: Apache-2.0
#include "export/interval_order.h"

#include <algorithm>

namespace noised {

void IntervalOrder::add(const Interval& interval, const Take& take) {
  if (held_.size() == kMostHeld) release(UINT64_MAX, take);
  held_.push_back({interval, came_++});
}

void IntervalOrder::release(std::uint64_t until_ns, const Take& take) {
  const auto middle =
      std::partition(held_.begin(), held_.end(), [&](const Held& held) { return held.interval.start_ns <= until_ns; });
  // Of two with the same times the one that ended last is the outer one.
  std::sort(held_.begin(), middle, [](const Held& a, const Held& b) {
    if (a.interval.start_ns != b.interval.start_ns) return a.interval.start_ns < b.interval.start_ns;
    if (a.interval.end_ns != b.interval.end_ns) return a.interval.end_ns > b.interval.end_ns;
    return a.number > b.number;
  });
  for (auto at = held_.begin(); at != middle; ++at) take(at->interval);
  held_.erase(held_.begin(), middle);
}

}  // namespace noised
