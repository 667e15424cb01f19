// SPDX-License-Identifier: Apache-2.0
// Fifty wakeups without work.
#include "selftest/wake_cost.h"

#include <algorithm>
#include <vector>

namespace noised::selftest {

std::uint64_t wake_cost_ns(GeneratorOptions options) {
  options.work_ns = 0;
  options.period_ns = 2'000'000;
  options.duration_ns = 100'000'000;
  const Result<Truth> truth = generate_wake(options);
  if (!truth) return 0;
  std::vector<std::uint64_t> costs;
  for (const Occurrence& each : truth.value().occurrences) {
    if (each.charged_ns > each.cpu_ns) costs.push_back(each.charged_ns - each.cpu_ns);
  }
  std::ranges::sort(costs);
  return costs.empty() ? 0 : costs[costs.size() * 9 / 10];
}

}  // namespace noised::selftest
