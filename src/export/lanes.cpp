// SPDX-License-Identifier: Apache-2.0
#include "export/lanes.h"

#include <algorithm>

namespace noised::exports {

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

bool Lanes::fits(const Lane& lane, std::uint64_t start_ns, std::uint64_t end_ns) {
  if (start_ns < lane.told_ns) return false;
  const auto around =
      std::find_if(lane.ends.rbegin(), lane.ends.rend(), [&](std::uint64_t end) { return end > start_ns; });
  return around == lane.ends.rend() || end_ns <= *around;
}

std::optional<std::size_t> Lanes::open(std::uint64_t start_ns, std::uint64_t end_ns, const End& end) {
  std::size_t at = 0;
  while (at < lanes_.size() && !fits(lanes_[at], start_ns, end_ns)) ++at;
  if (at == kMost) return std::nullopt;
  if (at == lanes_.size()) lanes_.emplace_back();
  Lane& lane = lanes_[at];
  while (!lane.ends.empty() && lane.ends.back() <= start_ns) {
    end(at, lane.ends.back());
    lane.ends.pop_back();
  }
  lane.ends.push_back(end_ns);
  lane.told_ns = start_ns;
  return at;
}

void Lanes::finish(const End& end) {
  for (std::size_t at = 0; at < lanes_.size(); ++at) {
    for (auto open = lanes_[at].ends.rbegin(); open != lanes_[at].ends.rend(); ++open) end(at, *open);
    lanes_[at].ends.clear();
  }
}

}  // namespace noised::exports
