// SPDX-License-Identifier: Apache-2.0
// Parzen windows: from the counts of a histogram to a smooth density (De, Kothari, Mann 2007).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/histogram.h"

namespace noised::analysis {

/// A Gaussian has less than one part in a million of its area further out than this, in bandwidths.
inline constexpr double kWindowReach = 5;
/// Twice as fine as the trapezoids need for the area to be exact to more digits than are shown.
inline constexpr double kStepsPerBandwidth = 2;

/// Both densities at one duration, each per decade of duration: the area over log10(duration) is 1.
struct DensityPoint {
  double duration_ns = 0;
  double user = 0;     ///< of the detours that the loop saw; 0 everywhere if there are none
  double rebuilt = 0;  ///< of the stretches of kernel activity; the same
};

struct DensityCurves {
  double bandwidth = 0;  ///< deviation of the Gaussian window, in decades; the same for both
  double step = 0;       ///< between two points, in decades
  std::vector<DensityPoint> points;
};

/// Silverman's rule of thumb over log10(duration): 0.9 * min(deviation, quartile distance / 1.34) * count^(-1/5); not
/// below the width of a bucket, within which the histogram knows nothing. For an empty histogram, that width.
double silverman_bandwidth(const Histogram& histogram);

/// Both densities by Gaussian windows over log10(duration), on one grid that holds both: durations of noise lie between
/// a hundred ns and many ms, and no width in ns fits both ends. Both have the smaller of the two bandwidths: with
/// different ones, smoothing alone would make them differ. A duration of 0 ns counts as 1 ns.
DensityCurves estimate_densities(const Histogram& user, const Histogram& rebuilt);

// How far two distributions of durations are apart.

/// The distance of Kolmogorov and Smirnov: the largest difference, at any duration, between the shares of both that are
/// not longer. 0: the same; 1: apart altogether; nothing if one is empty. Unlike the area between two densities it asks
/// for no bandwidth and no scale of the axis, and a small shift of a whole peak costs no more than the share of the
/// peak that it moves past each other. Both histograms have the same buckets, at whose bounds it is exact.
std::optional<double> distance(const Histogram& left, const Histogram& right);

}  // namespace noised::analysis
