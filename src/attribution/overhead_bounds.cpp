// SPDX-License-Identifier: Apache-2.0
// Learning what overhead can be.
#include "attribution/overhead_bounds.h"

#include <algorithm>
#include <bit>

namespace noised {

std::size_t RunningMedian::bucket_of(std::uint64_t ns) {
  constexpr std::uint64_t kLinear = 1U << kSubBits;
  if (ns < kLinear) return ns;
  const auto octave = static_cast<unsigned>(std::bit_width(ns)) - 1;
  const std::uint64_t sub = (ns >> (octave - kSubBits)) - kLinear;
  return std::min<std::size_t>(((octave - kSubBits + 1) << kSubBits) + sub, kBuckets - 1);
}

void RunningMedian::add(std::uint64_t ns) {
  if (count_ == UINT32_MAX) {  // days: let the recent count for more
    count_ = 0;
    for (auto& count : counts_) count_ += (count /= 2);
  }
  ++counts_[bucket_of(ns)];
  ++count_;
}

std::uint64_t RunningMedian::median() const {
  std::uint64_t below = 0;
  for (std::size_t bucket = 0; bucket < kBuckets && count_ != 0; ++bucket) {
    below += counts_[bucket];
    if (2 * below < count_) continue;
    if (bucket < (1U << kSubBits)) return bucket;
    const std::size_t shift = (bucket >> kSubBits) - 1;
    return (((bucket & ((1U << kSubBits) - 1)) + (1U << kSubBits) + 1) << shift) - 1;
  }
  return 0;
}

OverheadBounds::OverheadBounds() { bounds_.fill(kFirstGuessNs); }

void OverheadBounds::learn(const Gap& gap) {
  const std::size_t at = index(gap.place, gap.kind);
  RunningMedian& median = medians_[at];
  median.add(gap.ns);
  // The walk over the buckets costs about 100 ns; a median of many samples does not move in 64.
  if (median.count() < kEnoughSamples || (median.count() > 4 * kEnoughSamples && median.count() % 64 != 0)) return;
  bounds_[at] = std::max(kFloorNs, kFactor * median.median());
}

}  // namespace noised
