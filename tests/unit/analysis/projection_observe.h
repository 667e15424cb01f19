// SPDX-License-Identifier: Apache-2.0
// What is observed of CPUs under noise whose law is known.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "analysis/projection/projection.h"
#include "unit/analysis/projection_models.h"

namespace noised::test {

using namespace noised::account;
using namespace noised::analysis;

inline constexpr auto kGrain = static_cast<std::uint64_t>(kGrainNs);

inline const std::vector<RemovableSource>& the_sources() {
  static const std::vector<RemovableSource> sources{{0, Kind::vector, "noise", 0, 2, 1},
                                                    {1, Kind::task, "long", 0, 1, 1}};
  return sources;
}

/// Detours of each CPU one after the other, each of one source, as a node observed from 0 on has them.
class ObservedNode {
 public:
  explicit ObservedNode(std::uint64_t grains, std::size_t cpus = 1)
      : end_ns_(grains * kGrain),
        cpus_(cpus),
        phases_(kGrain, std::vector<std::uint64_t>(cpus, end_ns_), end_ns_, the_sources()) {
    for (std::size_t cpu = 0; cpu < cpus; ++cpu) phases_.begin(cpu, 0);
    ledger_.entries.resize(1);
  }
  /// False, and nothing is added, if it would end after all that is observed.
  bool detour(std::size_t cpu, std::uint64_t start_ns, std::uint64_t length_ns, SourceId source = 0) {
    if (start_ns + length_ns >= end_ns_) return false;
    ledger_.detour.start_ns = start_ns;
    ledger_.detour.end_ns = start_ns + length_ns;
    ledger_.entries[0].source = source;
    ledger_.entries[0].self_ns = length_ns;
    phases_.add(cpu, ledger_);
    return true;
  }
  /// Detours of this model; those longer than `split_ns` are of the second source.
  void fill(std::size_t cpu, const NoiseModel& model, std::mt19937_64& random, double split_ns = HUGE_VAL) {
    for (double now = 0;;) {
      now -= std::log(uniform(random)) * kGrainNs / model.per_grain;
      const double length = std::max(1.0, std::round(model.length(random)));
      if (!detour(cpu, static_cast<std::uint64_t>(now), static_cast<std::uint64_t>(length), length > split_ns ? 1 : 0))
        return;
      now += length;
    }
  }
  /// Once, after the last detour.
  Projection project(const std::vector<std::uint64_t>& nodes, const std::vector<double>& delays = {0}) {
    ProjectionInput input{kGrain, nodes, {}, the_sources(), &phases_, delays};
    for (std::size_t cpu = 0; cpu < cpus_; ++cpu) {
      phases_.end(cpu, end_ns_);
      input.cpus.push_back({static_cast<unsigned>(cpu), end_ns_});
    }
    return analysis::project(input);
  }
  [[nodiscard]] const JointPhases& phases() const { return phases_.whole(); }

 private:
  std::uint64_t end_ns_;
  std::size_t cpus_;
  NodePhases phases_;
  DetourLedger ledger_;
};

/// One CPU under this noise, of one source, or of two, of which the second has the detours longer than `split_ns`.
inline Projection observe(const NoiseModel& model, std::uint64_t grains, const std::vector<std::uint64_t>& nodes,
                          std::mt19937_64& random, double split_ns = HUGE_VAL) {
  ObservedNode node(grains);
  node.fill(0, model, random, split_ns);
  return node.project(nodes);
}

/// The truth lies in the interval.
inline bool holds(const Estimate& estimate, double truth) {
  REQUIRE(estimate.value);
  return *estimate.low <= truth && truth <= *estimate.high;
}

}  // namespace noised::test
