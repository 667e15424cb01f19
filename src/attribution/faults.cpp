// SPDX-License-Identifier: Apache-2.0
// The last fault before a handling is its own, unless another task ran since.
#include "attribution/faults.h"

#include <noised/abi.h>

#include <algorithm>

namespace noised {
namespace {

bool is_handling(const Interval& interval) {
  return interval.kind == Kind::page_fault && (interval.flags & NOISED_FLAG_HANDLING) != 0;
}

}  // namespace

void join_faults(std::vector<Interval>& intervals) {
  if (std::none_of(intervals.begin(), intervals.end(), is_handling)) return;
  Interval* fault = nullptr;  // whose handling has not begun yet
  for (Interval& interval : intervals) {
    if (interval.kind == Kind::task) fault = nullptr;
    if (interval.kind != Kind::page_fault) continue;
    if (!is_handling(interval)) {
      fault = &interval;
    } else if (fault != nullptr) {
      fault->end_ns = interval.end_ns;
      fault->flags |= interval.flags & NOISED_FLAG_SPLIT;
      interval.kind = Kind::none;
      fault = nullptr;
    }
  }
  std::erase_if(intervals, [](const Interval& interval) { return interval.kind == Kind::none; });
}

}  // namespace noised
