// SPDX-License-Identifier: Apache-2.0
// Where phases begin of which the last lets all others go: not anywhere. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/projection/excess.h"

namespace noised::analysis {

// The noise law: how likely it is that a job is delayed, by its size (Tsafrir et al. 2005, section 2). Pure.

/// The probability that a job on so many nodes is delayed in a phase, 1 - (1 - p)^n, where each of them is with
/// probability p by itself (equation 1); to the last digits, also for p of 1e-12 and n of 1e9.
double delay_probability(double p, double nodes);

/// Its approximation p * n, good where that is small (equation 2).
double linear_law(double p, double nodes);

/// By how much the approximation is too large, as a share of itself: less than p * n / 2, so at most 5% up to
/// p = 1 / (10 n) (end of section 2.1, whose inequality divides by p * n; of the probability it is 5.08% there).
/// 0 for p = 0.
double linear_law_error(double p, double nodes);

/// The mean duration of a phase over its grain, where it lasts `delayed` with this probability and `grain` otherwise
/// (equation 5); both in the same unit.
double bimodal_slowdown(double grain, double delayed, double probability);

// For how long phases of a CPU begin that are delayed by some time or more. Pure.

/// Of one CPU, by the buckets of Excess. Begins inside of detours are apart, since a barrier does not let all of them
/// be.
class DelayTail {
 public:
  /// Time in which phases begin with a delay beyond a bucket's lower and its upper bound, and the mean over its width.
  struct Times {
    double low_ns = 0;
    double high_ns = 0;
    double mean_ns = 0;
  };
  struct Bucket {
    Times outside;  ///< begins where no detour is
    Times inside;   ///< and within a detour
  };

  /// What `left_out` (nothing: null) holds does not count.
  DelayTail(const Excess& excess, const Excess* left_out);
  /// Of all of these, of each the share that counts, as if all began outside of detours.
  DelayTail(const std::vector<DelayTail>& parts, const std::vector<double>& shares);

  [[nodiscard]] std::size_t size() const { return buckets_.size(); }
  [[nodiscard]] const Bucket& at(std::size_t number) const { return buckets_[number]; }
  /// All begins outside of detours, and inside them.
  [[nodiscard]] double outside_ns() const { return buckets_.empty() ? 0 : buckets_.front().outside.low_ns; }
  [[nodiscard]] double inside_ns() const { return buckets_.empty() ? 0 : buckets_.front().inside.low_ns; }

 private:
  std::vector<Bucket> buckets_;
};

// From the phases of a node's CPUs to those of a job on many such nodes (Tsafrir et al. 2005, section 2.4). Pure.

/// How long a phase of a node is delayed: F(x), the probability of no more than x, is the product of those of what is
/// added, which all is busy with the same job: of its CPUs, taken as independent, or of all of them at once alone.
class DelayCurve {
 public:
  /// Multiplies by one more; of its begins inside detours, `kept` (all: null) tells the share that counts, by
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

/// By the buckets of a CPU's delays: of its begins inside a detour whose delay is at least the bucket's lower bound,
/// the share that can be.
using KeptShares = std::vector<double>;

/// A rank that is in a detour when the barrier lets it go came there while it waited, since before it ended its work:
/// the detour's age is at most its wait. So of begins at this age, the share P(wait >= age) is kept, where a rank waits
/// for the longest delay of all others: 1 - F(age)^(ranks - 1), from which F follows again (iterated, as F decides how
/// long the wait is). With one rank no phase begins inside a detour, with very many they begin anywhere, as Tsafrir et
/// al. (2005) have it. `cpus` make a node. Two things are taken for simpler than they are: delays of other detours in
/// the same phase are small beside that of the one it begins in, and ranks wait independently, though they all wait for
/// the same one: with detours of three grains, the slowdown comes out up to 4.3% of itself too high
/// (analysis_barrier_test).
std::vector<KeptShares> kept_at_barrier(const std::vector<DelayTail>& cpus, double nodes);

/// The same of a node whose phases begin on all of its CPUs at once (JointPhases::all()): the share that can be of
/// those that begin at each age of the oldest detour there. The CPU in it waited for the slowest of all others; it is
/// taken to be delayed itself as the mean of its node's CPUs: of ln F of the job that of one CPU is taken off, which is
/// exact where CPUs are independent of each other, and where all are delayed at once. What an age of zero has always
/// counts.
std::vector<double> kept_at_barrier(const std::vector<DelayTail>& ages, const std::vector<DelayTail>& cpus,
                                    double nodes);

}  // namespace noised::analysis
