// SPDX-License-Identifier: Apache-2.0
// Do the durations of two runs have the same density?
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/baseline/baseline.h"

namespace noised::analysis {

/// The Parzen densities of the durations of two runs (density.h), compared.
struct DensityDifference {
  double area = 0;         ///< half of what lies between both: the share of durations that would have to be elsewhere
  double bandwidth = 0;    ///< in decades; Silverman's rule (density.h), not below the width of a bucket
  double more_at_ns = 0;   ///< where the later density is most above the earlier
  double fewer_at_ns = 0;  ///< where it is most below
};

/// The difference of two sets of durations; nothing if one of them is empty.
std::optional<DensityDifference> density_difference(const DurationCounts& before, const DurationCounts& after);

/// A permutation test of the area: how often one as large comes of dividing all blocks by chance, in `draws` draws
/// (significance.h). Blocks of both have the same length.
double density_p(const std::vector<DurationCounts>& before, const std::vector<DurationCounts>& after, unsigned draws);

/// Durations of all blocks.
DurationCounts all_durations(const std::vector<DurationCounts>& blocks);

}  // namespace noised::analysis
