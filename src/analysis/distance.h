// SPDX-License-Identifier: Apache-2.0
// How far two distributions of durations are apart.
#pragma once

#include <optional>

#include "statistics/histogram.h"

namespace noised {

/// The distance of Kolmogorov and Smirnov: the largest difference, at any duration, between the shares of both that are
/// not longer. 0: the same; 1: apart altogether; nothing if one is empty. Unlike the area between two densities it asks
/// for no bandwidth and no scale of the axis, and a small shift of a whole peak costs no more than the share of the
/// peak that it moves past each other. Both histograms have the same buckets, at whose bounds it is exact.
std::optional<double> distance(const Histogram& left, const Histogram& right);

}  // namespace noised
