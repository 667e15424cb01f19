// SPDX-License-Identifier: Apache-2.0
// A vector whose front is dropped in large pieces.
#include "watch/timeline.h"

#include <algorithm>

namespace noised {

void Timeline::close(std::size_t count) {
  open_ += std::min(count, held_.size() - open_);
  if (open_ < 2 * capacity_) return;
  const std::size_t drop = open_ - capacity_;
  for (std::size_t at = 0; at < drop; ++at) forgotten_ns_ = std::max(forgotten_ns_, held_[at].end_ns);
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(drop));
  open_ = capacity_;
}

bool Timeline::touching(std::uint64_t from_ns, std::uint64_t to_ns, std::vector<Interval>& out) const {
  out.clear();
  const auto end = held_.begin() + static_cast<std::ptrdiff_t>(open_);
  auto at = std::upper_bound(held_.begin(), end, from_ns,
                             [](std::uint64_t ns, const Interval& interval) { return ns < interval.end_ns; });
  for (; at != end; ++at) {
    if (at->start_ns < to_ns) out.push_back(*at);
    if (at->kind == Kind::task && at->end_ns >= to_ns) break;
  }
  return from_ns >= forgotten_ns_;
}

}  // namespace noised
