// SPDX-License-Identifier: Apache-2.0
// Windows around the middle of each bucket. They are linear in the counts: each block has a curve of its own, and the
// curve of any set of blocks is the sum of theirs.
#include "analysis/baseline/baseline_density.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>

#include "analysis/baseline/significance.h"
#include "analysis/density/density.h"
#include "base/saturating.h"
#include "model/histogram.h"

namespace noised::analysis {
namespace {

// A bucket is at most so much wider than its lower bound; within it nothing is known.
constexpr double kBucketWidth = 1.0 / 16;

double position_of(std::uint64_t low_ns) {
  return std::log10(std::max(1.0, static_cast<double>(low_ns) * (1 + kBucketWidth / 2)));
}

double bandwidth_of(const DurationCounts& durations) {
  Histogram histogram;
  for (const auto& [low_ns, count] : durations) histogram.add(low_ns, count);
  return std::max(silverman_bandwidth(histogram), std::log10(1 + kBucketWidth));
}

/// The axis of log10(duration) that holds all windows of both.
struct Axis {
  double bandwidth;
  double step;
  double first;
  std::size_t points;

  Axis(const DurationCounts& before, const DurationCounts& after)
      : bandwidth(std::min(bandwidth_of(before), bandwidth_of(after))), step(bandwidth / kStepsPerBandwidth) {
    const double low = position_of(std::min(before.begin()->first, after.begin()->first));
    const double high = position_of(std::max(before.rbegin()->first, after.rbegin()->first));
    first = low - kWindowReach * bandwidth;
    points = static_cast<std::size_t>(std::ceil((high - low + 2 * kWindowReach * bandwidth) / step)) + 1;
  }
  [[nodiscard]] double at(std::size_t i) const { return first + static_cast<double>(i) * step; }
};

/// A sum of windows, and their number.
struct Curve {
  double count = 0;
  std::vector<double> heights;  ///< the sum's area over the axis is the number

  void add(const Curve& other) {
    count += other.count;
    for (std::size_t i = 0; i < heights.size(); ++i) heights[i] += other.heights[i];
  }
};

Curve curve_of(const DurationCounts& durations, const Axis& axis) {
  Curve curve{0, std::vector<double>(axis.points, 0)};
  for (const auto& [low_ns, number] : durations) {
    const auto count = static_cast<double>(number);
    curve.count += count;
    const double centre = position_of(low_ns);
    const double height = count / (axis.bandwidth * std::sqrt(2 * std::numbers::pi));
    const double reach = kWindowReach * axis.bandwidth;
    auto i = static_cast<std::size_t>(std::max(0.0, std::ceil((centre - reach - axis.first) / axis.step)));
    for (; i < axis.points && axis.at(i) <= centre + reach; ++i) {
      const double z = (axis.at(i) - centre) / axis.bandwidth;
      curve.heights[i] += height * std::exp(-z * z / 2);
    }
  }
  return curve;
}

double area_between(const Curve& left, const Curve& right, const Axis& axis) {
  if (left.count <= 0 || right.count <= 0) return 0;
  double sum = 0;
  for (std::size_t i = 0; i < axis.points; ++i)
    sum += std::abs(left.heights[i] / left.count - right.heights[i] / right.count);
  return std::min(1.0, sum * axis.step / 2);
}

}  // namespace

DurationCounts all_durations(const std::vector<DurationCounts>& blocks) {
  DurationCounts all;
  for (const DurationCounts& block : blocks)
    for (const auto& [low_ns, count] : block) all[low_ns] = saturating_add(all[low_ns], count);
  return all;
}

std::optional<DensityDifference> density_difference(const DurationCounts& before, const DurationCounts& after) {
  if (before.empty() || after.empty()) return std::nullopt;
  const Axis axis(before, after);
  const Curve then = curve_of(before, axis);
  const Curve now = curve_of(after, axis);
  DensityDifference difference{area_between(then, now, axis), axis.bandwidth, 0, 0};
  double most = 0;
  double least = 0;
  for (std::size_t i = 0; i < axis.points; ++i) {
    const double apart = now.heights[i] / now.count - then.heights[i] / then.count;
    if (apart > most) difference.more_at_ns = std::pow(10.0, axis.at(i));
    if (apart < least) difference.fewer_at_ns = std::pow(10.0, axis.at(i));
    most = std::max(most, apart);
    least = std::min(least, apart);
  }
  return difference;
}

double density_p(const std::vector<DurationCounts>& before, const std::vector<DurationCounts>& after, unsigned draws) {
  const DurationCounts all_before = all_durations(before);
  const DurationCounts all_after = all_durations(after);
  if (all_before.empty() || all_after.empty()) return 1;
  const Axis axis(all_before, all_after);
  const Curve none{0, std::vector<double>(axis.points, 0)};
  std::vector<Curve> curves;
  for (const auto* const run : {&before, &after})
    for (const DurationCounts& block : *run) curves.push_back(curve_of(block, axis));
  Curve all = none;
  for (const Curve& curve : curves) all.add(curve);
  return permutation_p(before.size(), after.size(), draws, [&](std::span<const std::size_t> chosen) {
    Curve left = none;
    for (const std::size_t block : chosen) left.add(curves[block]);
    Curve right{all.count - left.count, all.heights};
    for (std::size_t i = 0; i < axis.points; ++i) right.heights[i] -= left.heights[i];
    return area_between(left, right, axis);
  });
}

}  // namespace noised::analysis
