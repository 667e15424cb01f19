// SPDX-License-Identifier: Apache-2.0
// The noise law: how likely it is that a job is delayed, by its size (Tsafrir et al. 2005, section 2). Pure.
#pragma once

namespace noised {

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

}  // namespace noised
