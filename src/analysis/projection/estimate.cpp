// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/estimate.h"

#include <algorithm>
#include <cmath>

#include "analysis/projection/excess.h"

namespace noised::analysis {
namespace {

constexpr double kStudent = 2.0687;  // 97.5% for 23 degrees of freedom

/// Where Hall's transformation of a studentized figure, divided by the root of the number of blocks, is this.
double before_transformation(double transformed, double skew, double blocks) {
  if (std::abs(skew) < 1e-6) return transformed;
  return 3 / skew * (std::cbrt(1 + skew * (transformed - skew / (6 * blocks))) - 1);
}

/// By how much blocks that are alike beside each other tell less; each mean is corrected for their common one.
double likeness(std::span<const double> without, double mean, double squares) {
  if (squares <= 0) return 1;
  const auto count = static_cast<double>(without.size());
  double sum = 1;
  for (std::size_t apart = 1; apart < without.size() / 2; ++apart) {
    double products = 0;
    for (std::size_t i = apart; i < without.size(); ++i) products += (mean - without[i]) * (mean - without[i - apart]);
    const double correlation = products / squares + 1 / count;
    if (correlation <= 0) break;
    sum += 2 * (1 - static_cast<double>(apart) / count) * correlation;
  }
  return sum;
}

}  // namespace

SeenShare seen_share(double hits, double count) {
  constexpr double kNormal = 1.959964;
  constexpr double kSquared = kNormal * kNormal;
  if (count <= 0) return {};
  const double share = hits / count;
  const double middle = (share + kSquared / (2 * count)) / (1 + kSquared / count);
  const double half =
      kNormal * std::sqrt(share * (1 - share) / count + kSquared / (4 * count * count)) / (1 + kSquared / count);
  return {share, hits == 0 ? 0 : std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

Uncertainty uncertainty(double value, std::span<const double> without) {
  Uncertainty result;
  const auto count = static_cast<double>(without.size());
  double mean = 0;
  double log_mean = 0;
  for (const double each : without) {
    mean += each / count;
    log_mean += std::log(each) / count;
  }
  double squares = 0;
  double cubes = 0;
  double log_squares = 0;
  for (const double each : without) {
    const double told = mean - each;  // by this block: without it, the figure is smaller
    squares += told * told;
    cubes += told * told * told;
    log_squares += (std::log(each) - log_mean) * (std::log(each) - log_mean);
  }
  const double alike = likeness(without, mean, squares);
  const bool positive = std::all_of(without.begin(), without.end(), [](double each) { return each > 0; });
  result.log_error = positive ? std::sqrt(alike * log_squares * (count - 1) / count) : 1;
  result.error = std::sqrt(alike * squares * (count - 1) / count) / value;
  if (squares > 0) result.skew = cubes / count / std::pow(squares / count, 1.5);
  return result;
}

Ends confidence_ends(const Uncertainty& uncertainty) {
  constexpr double kBlocks = ExcessBlocks::kBlocks;
  const double root = std::sqrt(kBlocks);
  const auto transformed = [&](double student) {
    return 1 - uncertainty.error * root * before_transformation(student / root, uncertainty.skew, kBlocks);
  };
  return {std::clamp(transformed(kStudent), 0.0, std::exp(-kStudent * uncertainty.log_error)),
          std::max(transformed(-kStudent), std::exp(kStudent * uncertainty.log_error))};
}

std::optional<std::uint64_t> needed_ns(double log_error, double largest_error, const Sample& sample) {
  const double times =
      std::max(log_error * log_error / (largest_error * largest_error), kLeastIndependent / sample.independent);
  if (times <= 1) return std::nullopt;
  const double ns = static_cast<double>(sample.observed_ns) * (times - 1);
  return ns < 0x1p63 ? static_cast<std::uint64_t>(ns) : UINT64_MAX;
}

Estimate estimate(double value, std::span<const double> without, const Sample& sample, double largest_error) {
  Estimate result;
  if (!(value > 0)) return result;
  const Uncertainty around = uncertainty(value, without);
  result.needs_ns = needed_ns(around.log_error, largest_error, sample);
  if (result.needs_ns) return result;
  const Ends ends = confidence_ends(around);
  result.value = value;
  result.low = value * ends.low;
  result.high = value * ends.high;
  return result;
}

}  // namespace noised::analysis
