// SPDX-License-Identifier: Apache-2.0
// A job whose ranks meet at barriers, run step by step: what the projection must come to.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "unit/analysis/projection_models.h"

namespace noised::test {

/// A rank under the noise of a model, from one barrier to the next.
class Rank {
 public:
  Rank(const NoiseModel& model, std::mt19937_64& random) : model_(&model), random_(&random), next_ns_(gap()) {}

  /// When the work is done that could begin at `now`.
  double finish(double now) {
    while (next_ns_ < now) meet();
    double at = std::max(now, free_ns_);
    for (double left = kGrainNs; left > 0;) {
      const double until = std::min(left, next_ns_ - at);
      at += until;
      left -= until;
      if (left <= 0) break;
      meet();
      at = free_ns_;
    }
    return at;
  }

 private:
  double gap() { return -std::log(uniform(*random_)) * kGrainNs / model_->per_grain; }
  void meet() {
    free_ns_ = next_ns_ + model_->length(*random_);
    next_ns_ = free_ns_ + gap();
  }

  const NoiseModel* model_;
  std::mt19937_64* random_;
  double next_ns_;
  double free_ns_ = 0;  // the last detour's end
};

/// The mean of its phases over the grain, less 1; a node has a CPU under each of these.
inline double job_excess(const std::vector<NoiseModel>& node, std::size_t nodes, std::size_t phases,
                         std::mt19937_64& random) {
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < nodes; ++i) {
    for (const NoiseModel& model : node) ranks.emplace_back(model, random);
  }
  double now = 0;
  for (std::size_t phase = 0; phase < phases; ++phase) {
    double last = now;
    for (Rank& rank : ranks) last = std::max(last, rank.finish(now));
    now = last;
  }
  return now / (static_cast<double>(phases) * kGrainNs) - 1;
}

}  // namespace noised::test
