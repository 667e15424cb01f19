// SPDX-License-Identifier: Apache-2.0
// What would have been found.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "analysis/baseline_diff.h"
#include "analysis/significance.h"

namespace noised {
namespace {

// 95 in 100, when one more in 40 is lost because neighbours follow each other by chance, and once joined do so again.
constexpr double kFoundAlone = 0.975;

// Chance that of `blocks` at least `needed` have one or more, of a source that comes at random times.
double found_with(double per_block, std::size_t blocks, std::size_t needed) {
  const double hit = 1 - std::exp(-per_block);
  double found = 0;
  for (std::size_t k = needed; k <= blocks; ++k) {
    const auto [n, m] = std::pair(static_cast<double>(blocks), static_cast<double>(k));
    const double ways = std::lgamma(n + 1) - std::lgamma(m + 1) - std::lgamma(n - m + 1);
    found += std::exp(ways + m * std::log(hit) - (n - m) * per_block);
  }
  return found;
}

}  // namespace

std::optional<Power> power_of(std::size_t blocks_before, std::size_t blocks_after, std::uint64_t block_ns,
                              std::size_t tests) {
  const std::vector<double> before(blocks_before, 0);
  std::vector<double> after(blocks_after, 0);
  const double level = kFamilyLevel * (1 - kDensityShare) / static_cast<double>(std::max<std::size_t>(tests, 1));
  for (std::size_t needed = 1; needed <= blocks_after; ++needed) {
    after[needed - 1] = 1;
    if (rank_sum_p(before, after) > level) continue;
    double low = 0;
    double high = 50;  // in every block, as far as chance goes
    while (high - low > 1e-6) {
      const double middle = (low + high) / 2;
      (found_with(middle, blocks_after, needed) < kFoundAlone ? low : high) = middle;
    }
    return Power{needed, high / (static_cast<double>(block_ns) / 1e9)};
  }
  return std::nullopt;
}

}  // namespace noised
