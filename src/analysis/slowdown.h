// SPDX-License-Identifier: Apache-2.0
// From the phases of a node's CPUs to those of a job on many such nodes (Tsafrir et al. 2005, section 2.4). Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/delay_tail.h"

namespace noised {

/// How long a phase of a node is delayed: F(x), the probability of no more than x, is the product of those of its CPUs,
/// which all are busy with the same job. CPUs and nodes are taken as independent, as the paper does: where noise comes
/// to several at once, its delays overlap, and the job loses less than this says.
class DelayCurve {
 public:
  /// Multiplies by one more CPU; of its begins inside detours, `kept` (all: null) tells the share that counts, by
  /// bucket (barrier.h). False, and nothing is done, if no phase is left.
  bool add(const DelayTail& cpu, const std::vector<double>* kept = nullptr);

  /// P(X >= 1 ns): the p of the noise law.
  [[nodiscard]] double delayed() const;
  /// P(X >= x), where x is the lower bound of the bucket of this delay.
  [[nodiscard]] double delayed_from(double delay_ns) const;
  /// ln F, of a delay of less than the lower bound of this one's bucket.
  [[nodiscard]] double log_within(double delay_ns) const;
  /// E(max of n) - G in ns: the integral over x of 1 - F(x)^n. Each bucket's mean is exact; in it, F is taken as one
  /// step where that mean has it: exact for n = 1 and for delays that are all alike, otherwise never more than a
  /// bucket's width (Excess::kRelativeError) of what lies in it too low.
  [[nodiscard]] double expected_excess_ns(double nodes) const;
  /// The delay in ns that a phase exceeds with this probability; 0 where fewer phases are delayed at all.
  [[nodiscard]] double exceeded_ns(double probability) const;

 private:
  /// In one bucket of Excess, ln F before and after its step.
  struct Step {
    double before = 0;
    double after = 0;
    double place = 0;    // sum of the places of CPUs' steps, from 0 to 1, each times its height
    double certain = 0;  // where F is 0 before: the last place of those CPUs that alone make it so

    [[nodiscard]] double at() const;
  };

  std::vector<Step> steps_;
};

}  // namespace noised
