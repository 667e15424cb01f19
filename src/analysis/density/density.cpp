// SPDX-License-Identifier: Apache-2.0
// Windows over log10(duration).
#include "analysis/density/density.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>

namespace noised::analysis {
namespace {

double position(double duration_ns) { return std::log10(std::max(duration_ns, 1.0)); }

double position_of(const HistogramBucket& bucket) {
  return position((static_cast<double>(bucket.low_ns) + static_cast<double>(bucket.high_ns)) / 2);
}

double deviation(const Histogram& histogram) {
  double weight = 0;
  double mean = 0;
  double squares = 0;
  histogram.for_each([&](const HistogramBucket& bucket) {  // West's update, with weights
    const auto count = static_cast<double>(bucket.count);
    const double before = position_of(bucket) - mean;
    weight += count;
    mean += before * count / weight;
    squares += count * before * (position_of(bucket) - mean);
  });
  return weight > 1 ? std::sqrt(squares / (weight - 1)) : 0;
}

double quartile_distance(const Histogram& histogram) {
  return position(static_cast<double>(histogram.quantile(0.75))) -
         position(static_cast<double>(histogram.quantile(0.25)));
}

struct Grid {
  double first;
  double step;
  double bandwidth;

  [[nodiscard]] double at(std::size_t i) const { return first + static_cast<double>(i) * step; }
};

/// Adds the windows of all durations to one of both densities.
void add_windows(const Histogram& histogram, const Grid& grid, double DensityPoint::* density,
                 std::vector<DensityPoint>& points) {
  const auto total = static_cast<double>(histogram.count());
  histogram.for_each([&](const HistogramBucket& bucket) {
    const double centre = position_of(bucket);
    const double height =
        static_cast<double>(bucket.count) / total / (grid.bandwidth * std::sqrt(2 * std::numbers::pi));
    const double reach = kWindowReach * grid.bandwidth;
    auto i = static_cast<std::size_t>(std::max(0.0, std::ceil((centre - reach - grid.first) / grid.step)));
    for (; i < points.size() && grid.at(i) <= centre + reach; ++i) {
      const double z = (grid.at(i) - centre) / grid.bandwidth;
      points[i].*density += height * std::exp(-z * z / 2);
    }
  });
}

}  // namespace

double silverman_bandwidth(const Histogram& histogram) {
  const double least = std::log10(1 + Histogram::kRelativeError);
  if (histogram.count() == 0) return least;
  double spread = deviation(histogram);
  // Where half of all durations are in one bucket, the quartiles say nothing of the other half.
  if (const double quartiles = quartile_distance(histogram); quartiles > 0) spread = std::min(spread, quartiles / 1.34);
  return std::max(least, 0.9 * spread * std::pow(static_cast<double>(histogram.count()), -0.2));
}

DensityCurves estimate_densities(const Histogram& user, const Histogram& rebuilt) {
  DensityCurves curves;
  std::optional<double> low;
  double high = 0;
  for (const Histogram* histogram : {&user, &rebuilt}) {
    if (histogram->count() == 0) continue;
    const double bandwidth = silverman_bandwidth(*histogram);
    curves.bandwidth = low ? std::min(curves.bandwidth, bandwidth) : bandwidth;
    histogram->for_each([&](const HistogramBucket& bucket) {
      low = std::min(low.value_or(position_of(bucket)), position_of(bucket));
      high = std::max(high, position_of(bucket));
    });
  }
  if (!low) return curves;
  curves.step = curves.bandwidth / kStepsPerBandwidth;
  const Grid grid{*low - kWindowReach * curves.bandwidth, curves.step, curves.bandwidth};
  const double decades = high - *low + 2 * kWindowReach * curves.bandwidth;
  curves.points.resize(static_cast<std::size_t>(std::ceil(decades / curves.step)) + 1);
  for (std::size_t i = 0; i < curves.points.size(); ++i) curves.points[i].duration_ns = std::pow(10.0, grid.at(i));
  add_windows(user, grid, &DensityPoint::user, curves.points);
  add_windows(rebuilt, grid, &DensityPoint::rebuilt, curves.points);
  return curves;
}

std::optional<double> distance(const Histogram& left, const Histogram& right) {
  if (left.count() == 0 || right.count() == 0) return std::nullopt;
  std::map<std::uint64_t, double> steps;  // how far the shares move apart in this bucket
  const auto add = [&](const Histogram& histogram, double sign) {
    const auto count = static_cast<double>(histogram.count());
    histogram.for_each([&](const HistogramBucket& bucket) {
      steps[bucket.low_ns] += sign * (static_cast<double>(bucket.count) / count);
    });
  };
  add(left, 1);
  add(right, -1);
  double apart = 0;
  double largest = 0;
  for (const auto& step : steps) {
    apart += step.second;
    largest = std::max(largest, std::abs(apart));
  }
  return std::min(largest, 1.0);
}

}  // namespace noised::analysis
