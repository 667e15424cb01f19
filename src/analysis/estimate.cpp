// SPDX-License-Identifier: Apache-2.0
#include "analysis/estimate.h"

#include <algorithm>
#include <cmath>

namespace noised {

double log_error(std::span<const double> without) {
  if (std::any_of(without.begin(), without.end(), [](double value) { return !(value > 0); })) return 1;
  const auto count = static_cast<double>(without.size());
  double mean = 0;
  for (const double value : without) mean += std::log(value) / count;
  double squares = 0;
  for (const double value : without) squares += (std::log(value) - mean) * (std::log(value) - mean);
  return std::sqrt(squares * (count - 1) / count);
}

std::optional<std::uint64_t> needed_ns(double error, double largest_error, const Sample& sample) {
  const double times =
      std::max(error * error / (largest_error * largest_error), kLeastIndependent / sample.independent);
  if (times <= 1) return std::nullopt;
  const double ns = static_cast<double>(sample.observed_ns) * (times - 1);
  return ns < 0x1p63 ? static_cast<std::uint64_t>(ns) : UINT64_MAX;
}

double confidence_factor(double error) {
  constexpr double kStudent = 2.0687;
  return std::exp(kStudent * error);
}

Estimate estimate(double value, std::span<const double> without, const Sample& sample, double largest_error) {
  Estimate result;
  if (!(value > 0)) return result;
  const double error = log_error(without);
  result.needs_ns = needed_ns(error, largest_error, sample);
  if (result.needs_ns) return result;
  result.value = value;
  result.low = value / confidence_factor(error);
  result.high = value * confidence_factor(error);
  return result;
}

}  // namespace noised
