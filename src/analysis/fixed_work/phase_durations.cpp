// SPDX-License-Identifier: Apache-2.0
// A log-linear histogram as in model/histogram.h, with 64 times as many steps.
#include "analysis/fixed_work/phase_durations.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace noised::analysis {
namespace {

constexpr double kNormal95 = 1.959964;

// Fewer than these beyond a value, and where it lies is mostly chance.
constexpr std::uint64_t kLeastBeyond = 10;

}  // namespace

PhaseDurations::Bucket PhaseDurations::bucket_at(std::size_t octave, std::size_t step) {
  if (octave == 0) return {step, step};
  const std::size_t shift = octave - 1;
  const std::uint64_t low = std::uint64_t{kSteps + step} << shift;
  return {low, low + ((std::uint64_t{1} << shift) - 1)};
}

PhaseDurations::Bucket PhaseDurations::bucket_of(std::uint64_t duration_ns) {
  if (duration_ns < kSteps) return bucket_at(0, duration_ns);
  const auto octave = static_cast<std::size_t>(std::bit_width(duration_ns)) - kStepBits;
  return bucket_at(octave, static_cast<std::size_t>(duration_ns >> (octave - 1)) - kSteps);
}

void PhaseDurations::add(std::uint64_t duration_ns) {
  moments_.add(duration_ns);
  const std::size_t octave =
      duration_ns < kSteps ? 0 : static_cast<std::size_t>(std::bit_width(duration_ns)) - kStepBits;
  std::vector<std::uint64_t>& counts = octaves_[octave];
  if (counts.empty()) [[unlikely]] {
    counts.resize(kSteps);
  }
  ++counts[octave == 0 ? duration_ns : (duration_ns >> (octave - 1)) - kSteps];
}

template <typename Visit>
void PhaseDurations::for_each(Visit&& visit) const {
  for (std::size_t octave = 0; octave < kOctaves; ++octave) {
    for (std::size_t step = 0; step < octaves_[octave].size(); ++step) {
      const std::uint64_t count = octaves_[octave][step];
      if (count != 0) visit(bucket_at(octave, step), count);
    }
  }
}

// The upper bound of the bucket that holds the phase of this rank, the shortest being the first; exact for the longest.
std::uint64_t PhaseDurations::at_rank(std::uint64_t rank) const {
  std::uint64_t before = 0;
  std::uint64_t found_ns = 0;
  for_each([&](const Bucket& bucket, std::uint64_t count) {
    if (before < rank) found_ns = std::min(bucket.high_ns, moments_.max_ns());
    before += count;
  });
  return found_ns;
}

std::optional<double> PhaseDurations::calibrated_ns() const {
  const std::uint64_t count = moments_.count();
  if (count == 0) return std::nullopt;
  const std::uint64_t first = count / 10;
  const std::uint64_t last = std::max(first + 1, count / 5);
  std::uint64_t before = 0;
  double sum_ns = 0;
  for_each([&](const Bucket& bucket, std::uint64_t in_bucket) {
    const std::uint64_t from = std::max(before, first);
    const std::uint64_t to = std::min(before + in_bucket, last);
    const double middle_ns = (static_cast<double>(bucket.low_ns) + static_cast<double>(bucket.high_ns)) / 2;
    if (to > from) sum_ns += static_cast<double>(to - from) * middle_ns;
    before += in_bucket;
  });
  return sum_ns / static_cast<double>(last - first);
}

std::vector<Survival> PhaseDurations::survival() const {
  std::vector<Survival> points;
  const std::uint64_t count = moments_.count();
  std::uint64_t one_in = 1;
  for (int power = 1; power <= 6; ++power) {
    one_in *= 10;
    Survival point;
    point.p = 1 / static_cast<double>(one_in);
    point.phases_needed = kLeastBeyond * one_in;
    if (count >= point.phases_needed) {
      const std::uint64_t beyond = count / one_in;
      const auto spread =
          static_cast<std::uint64_t>(std::ceil(kNormal95 * std::sqrt(static_cast<double>(beyond) * (1 - point.p))));
      point.longer_than_ns = at_rank(count - beyond);
      point.low_ns = at_rank(count - std::min(count - 1, beyond + spread));
      point.high_ns = at_rank(count - (beyond > spread ? beyond - spread : 0));
    }
    points.push_back(point);
  }
  return points;
}

// The bound is that of a bucket, so that what is counted above it is exact.
std::vector<Exceeding> PhaseDurations::exceeding(std::span<const double> shares) const {
  std::vector<Exceeding> all;
  const auto grain_ns = calibrated_ns();
  if (!grain_ns) return all;
  for (const double share : shares) {
    Exceeding each;
    each.share = share;
    each.above_ns = bucket_of(static_cast<std::uint64_t>(std::llround(*grain_ns * (1 + share)))).high_ns;
    for_each([&](const Bucket& bucket, std::uint64_t count) {
      if (bucket.low_ns > each.above_ns) each.phases += count;
    });
    each.p = seen_share(static_cast<double>(each.phases), static_cast<double>(moments_.count()));
    all.push_back(each);
  }
  return all;
}

}  // namespace noised::analysis
