// SPDX-License-Identifier: Apache-2.0
#include "analysis/quanta.h"

#include <algorithm>

namespace noised {

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

}  // namespace noised
