// SPDX-License-Identifier: Apache-2.0
// Learning what overhead can be.
#include "account/overhead_bounds.h"

#include <algorithm>
#include <bit>

namespace noised::account {

std::size_t LowerHalf::bucket_of(std::uint64_t ns) {
  constexpr std::uint64_t kLinear = 1U << kSubBits;
  if (ns < kLinear) return ns;
  const auto octave = static_cast<unsigned>(std::bit_width(ns)) - 1;
  const std::uint64_t sub = (ns >> (octave - kSubBits)) - kLinear;
  return std::min<std::size_t>(((octave - kSubBits + 1) << kSubBits) + sub, kBuckets - 1);
}

void LowerHalf::add(std::uint64_t ns) {
  if (count_ == UINT32_MAX) halve();
  ++counts_[bucket_of(ns)];
  ++count_;
}

void LowerHalf::halve() {
  count_ = 0;
  for (auto& count : counts_) count_ += (count /= 2);
}

std::uint64_t LowerHalf::upper_edge(std::size_t bucket) {
  constexpr std::size_t kLinear = std::size_t{1} << kSubBits;
  if (bucket < kLinear) return bucket;
  const std::size_t shift = (bucket >> kSubBits) - 1;
  return (((bucket & (kLinear - 1)) + kLinear + 1) << shift) - 1;
}

std::uint64_t LowerHalf::quantile(std::uint64_t parts) const {
  std::uint64_t below = 0;
  for (std::size_t bucket = 0; bucket < kBuckets && count_ != 0; ++bucket) {
    below += counts_[bucket];
    if (parts * below >= count_) return upper_edge(bucket);
  }
  return 0;
}

OverheadBounds::OverheadBounds() { bounds_.fill(kFirstGuessNs); }

void OverheadBounds::learn(const Gap& gap, std::uint64_t at_ns) {
  const std::size_t at = index(gap.place, gap.kind);
  LowerHalf& seen = seen_[at];
  if (halved_ns_[at] == 0) halved_ns_[at] = at_ns;
  // Of the rarest, all that there is is needed.
  for (; at_ns >= halved_ns_[at] + kHalfLifeNs; halved_ns_[at] += kHalfLifeNs) {
    if (seen.count() > 8 * kEnoughSamples) {
      seen.halve();
    } else {
      halved_ns_[at] = at_ns;
      break;
    }
  }
  seen.add(gap.ns);
  // The walks over the buckets cost about 200 ns; quartiles of many samples do not move in 64.
  if (seen.count() < kEnoughSamples || (seen.count() > 4 * kEnoughSamples && seen.count() % 64 != 0)) return;
  const std::uint64_t median = seen.median();
  bounds_[at] = std::max({kFloorNs, 2 * median, median + kSpreads * (median - seen.lower_quartile())});
}

void LearnedBounds::add(const OverheadBounds& bounds) {
  for (std::size_t at = 0; at < rows_.size(); ++at) {
    const auto place = static_cast<GapPlace>(at / kKindCount);
    const auto kind = static_cast<Kind>(at % kKindCount);
    const std::uint64_t samples = bounds.samples(place, kind);
    if (samples == 0) continue;
    Row& row = rows_[at];
    const std::uint64_t bound_ns = bounds.bound(place, kind);
    row.least_ns = row.cpus == 0 ? bound_ns : std::min(row.least_ns, bound_ns);
    row.most_ns = std::max(row.most_ns, bound_ns);
    row.samples += samples;
    ++row.cpus;
  }
}

}  // namespace noised::account
