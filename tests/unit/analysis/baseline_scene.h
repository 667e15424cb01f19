// SPDX-License-Identifier: Apache-2.0
// Runs that never were: sources at rates that the test knows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "analysis/baseline/baseline.h"

namespace noised::test {

using namespace noised::analysis;

/// A run of so many blocks of 0.64 s on one CPU, with nothing in it.
inline Baseline empty_run(std::size_t blocks) {
  Baseline run;
  run.host = "node";
  run.kinds = {"task", "vector"};
  run.cpus = {{1, 200, blocks * 640'000'000}};
  run.block_ns = kShortestBlockNs << 6U;
  run.detours.resize(blocks);
  return run;
}

/// Adds a source whose activations last `self_ns` each.
inline void add_source(Baseline& run, Kind kind, const std::string& name, const std::vector<std::uint64_t>& counts,
                       std::uint64_t self_ns) {
  BaselineSource source{kind, name, {}};
  for (const std::uint64_t count : counts) source.blocks.push_back({count, count * self_ns});
  run.sources.push_back(std::move(source));
  std::sort(run.sources.begin(), run.sources.end(), [](const BaselineSource& a, const BaselineSource& b) {
    return std::pair(a.kind, a.name) < std::pair(b.kind, b.name);
  });
}

/// What comes at random times, so many in each block in the mean.
inline std::vector<std::uint64_t> at_random(std::mt19937_64& random, std::size_t blocks, double mean) {
  std::poisson_distribution<std::uint64_t> count(mean);
  std::vector<std::uint64_t> counts;
  for (std::size_t i = 0; i < blocks; ++i) counts.push_back(count(random));
  return counts;
}

}  // namespace noised::test
