// SPDX-License-Identifier: Apache-2.0
#include "analysis/fixed_work/quanta.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace noised::analysis {
namespace {

// The loop takes a sample one iteration after the end of a quantum, and the two clocks differ by so little of one.
constexpr std::uint64_t kOnTimeNs = 1'000;
constexpr std::uint64_t kOnTimeShare = 1'000;
// 17 minutes at 1 ms: only a file can say that one detour took as many.
constexpr std::uint64_t kMostRows = 1'000'000;

}  // namespace

// What is nested in it, or overlaps with it, is in its time already.
void QuantumSeries::add(const Interval& interval) {
  if (interval.end_ns <= interval.start_ns) return;
  Interval whole = interval;
  while (!outermost_.empty() && outermost_.back().end_ns > whole.start_ns) {
    whole.start_ns = std::min(whole.start_ns, outermost_.back().start_ns);
    whole.end_ns = std::max(whole.end_ns, outermost_.back().end_ns);
    outermost_.pop_back();
  }
  // Only a file can say that so much went on without a sample: then it is not known of which quantum it was.
  constexpr std::size_t kMost = std::size_t{1} << 18U;
  if (outermost_.size() == kMost) {
    outermost_.clear();
    interrupt();
  }
  outermost_.push_back(whole);
}

// No detour reaches over a sample: the loop takes samples, and in a detour it does not run.
void QuantumSeries::add(const Detour& detour) {
  detour_ns_ += detour.end_ns - detour.start_ns;
  ++detours_;
}

// Those of later quanta may be here already: a drain tells all its intervals before its detours and samples.
std::uint64_t QuantumSeries::take_intervals(std::uint64_t start_ns, std::uint64_t end_ns) {
  std::uint64_t sum_ns = 0;
  while (!outermost_.empty() && outermost_.front().start_ns < end_ns) {
    Interval& interval = outermost_.front();
    const std::uint64_t from_ns = std::max(interval.start_ns, start_ns);
    const std::uint64_t to_ns = std::min(interval.end_ns, end_ns);
    if (to_ns > from_ns) sum_ns += to_ns - from_ns;
    if (interval.end_ns > end_ns) {
      interval.start_ns = end_ns;
      break;
    }
    outermost_.pop_front();
  }
  return sum_ns;
}

std::optional<Quantum> QuantumSeries::sample(std::uint64_t end_ns, std::uint64_t iterations) {
  const std::uint64_t start_ns = start_ns_.value_or(end_ns);
  const bool known = start_ns_.has_value() && iterations != 0 && end_ns > start_ns;
  const Quantum quantum{start_ns, end_ns, iterations, detour_ns_, take_intervals(start_ns, end_ns), detours_, begun_};
  start_ns_ = end_ns;
  begun_ = iterations == 0;
  detour_ns_ = detours_ = 0;
  return known ? std::optional(quantum) : std::nullopt;
}

FtqRows::FtqRows(std::uint64_t quantum_ns)
    : quantum_ns_(quantum_ns), slack_ns_(std::min(quantum_ns / 4, std::max(kOnTimeNs, quantum_ns / kOnTimeShare))) {}

void FtqRows::add(const Quantum& quantum, const Use& use) {
  FtqRow next{quantum.start_ns, quantum.iterations, 0};
  if (!end_ns_ || quantum.start_ns != *end_ns_) {
    finish(use);
    if (end_ns_)
      next.unobserved = (quantum.start_ns - std::min(quantum.start_ns, *end_ns_) + quantum_ns_ / 2) / quantum_ns_;
    // Where its start was in a quantum is known only by its end, if that was at the end of one.
    late_ns_ = quantum.length_ns() + slack_ns_ < quantum_ns_ ? quantum_ns_ - quantum.length_ns() : 0;
  }
  next.unobserved += std::exchange(left_out_, 0);
  const std::uint64_t reach_ns = late_ns_ + quantum.length_ns();
  const std::uint64_t ends = (reach_ns + slack_ns_) / quantum_ns_;
  const std::uint64_t late_ns = reach_ns - std::min(reach_ns, ends * quantum_ns_);
  late_ns_ = late_ns < slack_ns_ ? 0 : late_ns;
  end_ns_ = quantum.end_ns;
  if (ends == 0 && begun_) {  // what was taken for its end lay a moment before it
    begun_->iterations += quantum.iterations;
    return;
  }
  finish(use);
  begun_ = next;
  if (ends > kMostRows) {
    left_out_ = ends - 1;
    return;
  }
  for (std::uint64_t end = 1; end < ends; ++end) {
    finish(use);
    begun_ = FtqRow{quantum.end_ns, 0, 0};
  }
}

void FtqRows::finish(const Use& use) {
  if (begun_) use(*begun_);
  begun_.reset();
}

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
  constexpr double kSteps = 10'000;
  Alike& alike = calibrated_[std::llround(std::log(each_ns) * kSteps)];
  ++alike.count;
  alike.sum_ns += each_ns;
  ++calibrated_count_;
  iteration_ns_.reset();
}

double FtqAgreement::iteration_ns() const {
  if (iteration_ns_) return *iteration_ns_;
  const double wanted = kFast * static_cast<double>(calibrated_count_);
  std::uint64_t as_fast = 0;
  for (const auto& [step, alike] : calibrated_) {
    as_fast += alike.count;
    if (static_cast<double>(as_fast) < wanted) continue;
    iteration_ns_ = alike.sum_ns / static_cast<double>(alike.count);
    break;
  }
  return iteration_ns_.value_or(0);
}

double FtqAgreement::missing_ns(const Quantum& quantum) const {
  return static_cast<double>(quantum.length_ns()) - static_cast<double>(quantum.iterations) * iteration_ns();
}

void FtqAgreement::compare(const Quantum& quantum) {
  const double missing = missing_ns(quantum);
  detours_.add(missing, static_cast<double>(quantum.detour_ns));
  intervals_.add(missing, static_cast<double>(quantum.interval_ns));
  if (quantum.detours == 0) quiet_.add(missing, 0);
}

}  // namespace noised::analysis
