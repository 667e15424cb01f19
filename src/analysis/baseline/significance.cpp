// SPDX-License-Identifier: Apache-2.0
// Counting ways, by dynamic programming where they can be counted and by chance where they cannot.
#include "analysis/baseline/significance.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>

namespace noised::analysis {
namespace {

/// Twice the rank of each value, in the order given: whole numbers also where equal values share the mean rank.
std::vector<std::size_t> doubled_ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<std::size_t> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first + 1;
    while (end < order.size() && values[order[end]] <= values[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i) ranks[order[i]] = first + 1 + end;
    first = end;
  }
  return ranks;
}

/// In how many ways `chosen` of the ranks have each sum: doubles, as there are more than 2^64, and only shares of them
/// are asked for.
std::vector<double> ways_by_sum(const std::vector<std::size_t>& ranks, std::size_t chosen) {
  const std::size_t sums = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0}) + 1;
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(sums, 0));
  ways[0][0] = 1;
  std::size_t seen = 0;
  std::size_t largest = 0;
  for (const std::size_t rank : ranks) {
    ++seen;
    largest += rank;
    for (std::size_t k = std::min(seen, chosen); k > 0; --k)
      for (std::size_t sum = rank; sum <= largest; ++sum) ways[k][sum] += ways[k - 1][sum - rank];
  }
  return std::move(ways[chosen]);
}

void join_neighbours(std::vector<double>& values) {
  for (std::size_t i = 0; i + 1 < values.size(); i += 2) values[i / 2] = (values[i] + values[i + 1]) / 2;
  values.resize(values.size() / 2);
}

}  // namespace

double serial_correlation(std::span<const double> left, std::span<const double> right) {
  std::vector<double> values(left.begin(), left.end());
  values.insert(values.end(), right.begin(), right.end());
  const std::vector<std::size_t> ranks = doubled_ranks(values);
  double squares = 0;
  double products = 0;
  for (const auto& side : {std::span(ranks).first(left.size()), std::span(ranks).subspan(left.size())}) {
    const double mean = std::accumulate(side.begin(), side.end(), 0.0) / static_cast<double>(side.size());
    double last = 0;
    for (const std::size_t rank : side) {
      const double apart = static_cast<double>(rank) - mean;
      squares += apart * apart;
      products += last * apart;
      last = apart;
    }
  }
  return squares > 0 ? products / squares : 0;
}

double serial_rank_sum_p(std::vector<double> left, std::vector<double> right, std::size_t fewest) {
  // One standard deviation of what independent values show: one time in six they are joined although they need not be,
  // which costs little, as then what is left is still enough.
  while (serial_correlation(left, right) > 1 / std::sqrt(static_cast<double>(left.size() + right.size()))) {
    if (std::min(left.size(), right.size()) / 2 < fewest) return 1;
    join_neighbours(left);
    join_neighbours(right);
  }
  return rank_sum_p(left, right);
}

double rank_sum_p(std::span<const double> left, std::span<const double> right) {
  if (left.size() > right.size()) std::swap(left, right);  // to choose few of them is less work
  if (left.empty()) return 1;
  std::vector<double> values(left.begin(), left.end());
  values.insert(values.end(), right.begin(), right.end());
  // Counted from the least and in the largest step that fits, sums are few where values are: of many zeros and ones,
  // as of a rare source, hundreds of times fewer.
  std::vector<std::size_t> ranks = doubled_ranks(values);
  const std::size_t least = *std::min_element(ranks.begin(), ranks.end());
  std::size_t step = 0;
  for (const std::size_t rank : ranks) step = std::gcd(step, rank - least);
  for (std::size_t& rank : ranks) rank = (rank - least) / std::max<std::size_t>(step, 1);
  const std::vector<double> ways = ways_by_sum(ranks, left.size());
  const auto expected = static_cast<std::int64_t>(left.size() * (values.size() + 1));
  const auto apart = [&](std::size_t sum) {
    return std::abs(static_cast<std::int64_t>(sum * step + left.size() * least) - expected);
  };
  std::size_t seen = 0;
  for (std::size_t i = 0; i < left.size(); ++i) seen += ranks[i];
  double all = 0;
  double as_far = 0;
  for (std::size_t sum = 0; sum < ways.size(); ++sum) {
    all += ways[sum];
    if (apart(sum) >= apart(seen)) as_far += ways[sum];
  }
  return as_far / all;
}

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double least = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    least = std::max(least, std::min(1.0, static_cast<double>(p.size() - i) * p[order[i]]));
    adjusted[order[i]] = least;
  }
  return adjusted;
}

double permutation_p(std::size_t left, std::size_t right, unsigned draws, const DividedStatistic& statistic) {
  std::vector<std::size_t> parts(left + right);
  std::iota(parts.begin(), parts.end(), std::size_t{0});
  const auto now = [&] { return statistic(std::span(parts).first(left)); };
  const double seen = now();
  std::mt19937_64 random(1);  // NOLINT(cert-msc51-cpp): who asks twice must get the same answer
  unsigned as_large = 0;
  for (unsigned draw = 0; draw < draws; ++draw) {
    for (std::size_t i = 0; i < left; ++i) std::swap(parts[i], parts[i + random() % (parts.size() - i)]);
    // What is the same division in another order may differ in its last digits.
    if (now() >= seen * (1 - 1e-9)) ++as_large;
  }
  return (1.0 + as_large) / (1.0 + draws);
}

}  // namespace noised::analysis
