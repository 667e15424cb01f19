// SPDX-License-Identifier: Apache-2.0
#include "analysis/agreement.h"

#include <algorithm>
#include <cmath>

namespace noised {

void Agreement::add(double value, double reference) {
  ++count_;
  const auto count = static_cast<double>(count_);
  const double before_value = value - mean_value_;
  const double before_reference = reference - mean_reference_;
  mean_value_ += before_value / count;
  mean_reference_ += before_reference / count;
  squares_value_ += before_value * (value - mean_value_);
  squares_reference_ += before_reference * (reference - mean_reference_);
  products_ += before_value * (reference - mean_reference_);
}

std::optional<double> Agreement::correlation() const {
  const double scale = std::sqrt(squares_value_ * squares_reference_);
  return scale > 0 ? std::optional(products_ / scale) : std::nullopt;
}

double Agreement::bias_deviation() const {
  if (count_ < 2) return 0;
  const double squares = squares_value_ + squares_reference_ - 2 * products_;
  return std::sqrt(std::max(0.0, squares) / static_cast<double>(count_ - 1));
}

void FtqAgreement::calibrate(const Quantum& quantum) {
  const double each_ns = static_cast<double>(quantum.length_ns()) / static_cast<double>(quantum.iterations);
  // A quantum that was cut short has few iterations: its edges would be more of it than anything else.
  constexpr std::uint64_t kFewIterations = 1000;
  if (quantum.iterations < kFewIterations) return;
  if (iteration_ns_ == 0 || each_ns < iteration_ns_) iteration_ns_ = each_ns;
}

double FtqAgreement::missing_ns(const Quantum& quantum) const {
  return static_cast<double>(quantum.length_ns()) - static_cast<double>(quantum.iterations) * iteration_ns_;
}

void FtqAgreement::compare(const Quantum& quantum) {
  const double missing = missing_ns(quantum);
  detours_.add(missing, static_cast<double>(quantum.detour_ns));
  intervals_.add(missing, static_cast<double>(quantum.interval_ns));
  if (quantum.detours == 0) quiet_.add(missing, 0);
}

}  // namespace noised
