// SPDX-License-Identifier: Apache-2.0
// Densities of durations, drawn over each other: what the loop saw, and what the kernel's events say.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analysis/distributions.h"

namespace noised::page {

struct DensityCurve {
  std::string label;
  std::vector<std::pair<double, double>> points;  ///< duration in ns, density; by duration, rising
};

struct DensityChart {
  std::vector<DensityCurve> curves;  ///< at most two are told apart
  std::string unit;                  ///< of the density
  std::string note;                  ///< how they were estimated, and their distance
};

/// The curves of all CPUs together, and the distances of each CPU: of the eight that differ most where there are more.
DensityChart density_chart(const DensityCurves& all, std::vector<DensityComparison> cpus);

}  // namespace noised::page
