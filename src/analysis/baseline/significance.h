// SPDX-License-Identifier: Apache-2.0
// Could chance alone have done this? Tests that assume nothing of how what was measured is distributed. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace noised::analysis {

/// Wilcoxon's rank-sum test (Mann and Whitney), two-sided and exact, with ties: the share of all ways to choose
/// left.size() of the values whose ranks sum to something at least as far from what is expected as those of `left`. 1
/// where a side is empty. Takes time with the square of all values times the smaller side: 1 ms for 31 and 31.
double rank_sum_p(std::span<const double> left, std::span<const double> right);

/// How far values follow their neighbours within each side: the correlation of ranks (of both sides together, less
/// their side's mean) at one step, -1 to 1; 0 where nothing varies.
double serial_correlation(std::span<const double> left, std::span<const double> right);

/// rank_sum_p of values that were measured one after the other. It asks for independent values; where neighbours follow
/// each other (serial_correlation() beyond chance), two become one, their mean, until they do not. 1 where then fewer
/// than `fewest` would be left of a side: it changes within a run as it does between both.
double serial_rank_sum_p(std::vector<double> left, std::vector<double> right, std::size_t fewest);

/// Holm's correction (1979): for each of several p-values, the level at which it would still count if the chance that
/// any of them is wrong is to stay below that level, whatever they have to do with each other. In the order given.
std::vector<double> holm(const std::vector<double>& p);

/// The statistic of one way to divide: which parts, by number, are on the left; those that remain are on the right.
using DividedStatistic = std::function<double(std::span<const std::size_t>)>;

/// A permutation test: (1 + how many of `draws` divisions at random of left + right parts have a statistic at least as
/// large as the first, in which the left ones are 0 to left - 1) / (1 + draws). The same every time.
double permutation_p(std::size_t left, std::size_t right, unsigned draws, const DividedStatistic& statistic);

}  // namespace noised::analysis
