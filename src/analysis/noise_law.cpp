// SPDX-License-Identifier: Apache-2.0
#include "analysis/noise_law.h"

#include <cmath>

namespace noised {

double delay_probability(double p, double nodes) { return p >= 1 ? 1 : -std::expm1(nodes * std::log1p(-p)); }

double linear_law(double p, double nodes) { return p * nodes; }

double linear_law_error(double p, double nodes) {
  if (p <= 0) return 0;
  // The share is (n - 1) p / 2, less a third of the square of p * n: below this their difference has no digits left.
  constexpr double kNearlyEqual = 1e-6;
  if (p * nodes < kNearlyEqual) return (nodes - 1) * p / 2;
  return 1 - delay_probability(p, nodes) / linear_law(p, nodes);
}

double bimodal_slowdown(double grain, double delayed, double probability) {
  return ((1 - probability) * grain + probability * delayed) / grain;
}

}  // namespace noised
