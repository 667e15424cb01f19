// SPDX-License-Identifier: Apache-2.0
// Sort by start, then join what overlaps or nearly touches.
#include "watch/stretches.h"

#include <algorithm>

namespace noised {

std::size_t divide_interruptions(std::span<const Interval> intervals, std::uint64_t until_ns,
                                 std::vector<Interval>& scratch, const OnInterruption& on_interruption) {
  scratch.assign(intervals.begin(), intervals.end());
  std::ranges::stable_sort(scratch, {}, &Interval::start_ns);
  std::size_t told = 0;
  for (std::size_t first = 0; first < scratch.size();) {
    std::uint64_t end_ns = scratch[first].end_ns;
    std::size_t last = first + 1;
    while (last < scratch.size() && scratch[last].start_ns <= end_ns + kJoinNs) {
      end_ns = std::max(end_ns, scratch[last].end_ns);
      ++last;
    }
    if (end_ns > until_ns) break;
    on_interruption({scratch[first].start_ns, end_ns, false}, std::span(scratch).subspan(first, last - first));
    told += last - first;
    first = last;
  }
  return told;
}

}  // namespace noised
