// SPDX-License-Identifier: Apache-2.0
// Parzen windows: from the counts of a histogram to a smooth density (De, Kothari, Mann 2007).
#pragma once

#include <cstdint>
#include <vector>

#include "statistics/histogram.h"

namespace noised {

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

}  // namespace noised
