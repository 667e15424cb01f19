// SPDX-License-Identifier: Apache-2.0
// What a histogram does besides counting: merging, and the search for a quantile.
#include "model/histogram.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace noised {
namespace {

// A share such as 0.07 is mostly not a double, and the nearest double may lie above it: 0.07 of 100 would then be
// rank 8. Taking off one part in 2^52, twice the largest such error, gives rank 7, and moves no rank below 2^52.
std::uint64_t rank_of(double q, std::uint64_t count) {
  if (q >= 1) return count;
  const long double exact = static_cast<long double>(q) * static_cast<long double>(count) * (1 - 0x1p-52L);
  return std::clamp(static_cast<std::uint64_t>(std::ceil(exact)), std::uint64_t{1}, count);
}

}  // namespace

void Histogram::merge(const Histogram& other) {
  for (std::size_t octave = 0; octave < kOctaves; ++octave) {
    const Octave* from = other.octaves_[octave].get();
    if (from == nullptr) continue;
    Octave& to = octaves_[octave].get_or_make();
    for (std::size_t step = 0; step < kSteps; ++step) to[step] = saturating_add(to[step], (*from)[step]);
  }
  count_ = saturating_add(count_, other.count_);
}

std::uint64_t Histogram::quantile(double q) const {
  assert(q >= 0 && q <= 1);
  if (count_ == 0) return 0;
  const std::uint64_t rank = rank_of(q, count_);
  std::uint64_t below = 0;
  std::uint64_t answer = 0;
  for_each([&](const HistogramBucket& bucket) {
    if (below < rank) answer = bucket.high_ns;
    below = saturating_add(below, bucket.count);
  });
  return answer;
}

}  // namespace noised
