// SPDX-License-Identifier: Apache-2.0
#include "analysis/barrier.h"

#include <algorithm>
#include <cmath>

#include "analysis/slowdown.h"

namespace noised {
namespace {

// From shares that are all 1. With 14 steps, none of the jobs of analysis_barrier_test changes by more than 0.02%.
constexpr int kSteps = 6;
// So many buckets of Excess are taken together: 1/4 of their lower bound wide. The share is smooth.
constexpr std::size_t kTogether = 8;

/// P(wait >= this) for one CPU among all ranks of a job.
class Wait {
 public:
  Wait(const DelayCurve& node, const DelayCurve& own, double nodes) : node_(node), own_(own), nodes_(nodes) {}

  [[nodiscard]] double at_least(double age_ns) const {
    const double others = nodes_ * node_.log_within(age_ns) - own_.log_within(age_ns);
    return std::isnan(others) ? 1 : -std::expm1(std::min(others, 0.0));
  }

 private:
  const DelayCurve& node_;
  const DelayCurve& own_;
  double nodes_;
};

/// A begin at this age, from which the detour lasts x or more: it is in one that lasts x + age or more, and there is
/// one such begin for each nanosecond of age. The sum over ages is over the buckets of x + age.
double kept_share(const DelayTail& cpu, std::size_t from, const Wait& wait) {
  const double from_ns = Excess::low_ns(from);
  double kept_ns = 0;
  for (std::size_t i = from; i < cpu.size(); i += kTogether) {
    const std::size_t end = std::min(i + kTogether, cpu.size());
    const double begins_ns = cpu.at(i).inside.low_ns - (end < cpu.size() ? cpu.at(end).inside.low_ns : 0);
    if (begins_ns <= 0) continue;
    const double age_ns = (Excess::low_ns(i) + Excess::low_ns(end)) / 2 - from_ns;
    kept_ns += begins_ns * wait.at_least(age_ns);
  }
  const double all_ns = cpu.at(from).inside.low_ns;
  return all_ns > 0 ? std::clamp(kept_ns / all_ns, 0.0, 1.0) : 0;
}

KeptShares kept_shares(const DelayTail& cpu, const Wait& wait) {
  KeptShares shares(cpu.size(), 0);
  for (std::size_t i = 0; i < cpu.size(); i += kTogether) shares[i] = kept_share(cpu, i, wait);
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    const std::size_t low = i - i % kTogether;
    const double next = low + kTogether < cpu.size() ? shares[low + kTogether] : 0;
    const double part = static_cast<double>(i - low) / kTogether;
    if (i != low) shares[i] = shares[low] + (next - shares[low]) * part;
  }
  return shares;
}

}  // namespace

std::vector<KeptShares> kept_at_barrier(const std::vector<DelayTail>& cpus, double nodes) {
  std::vector<KeptShares> kept;
  kept.reserve(cpus.size());
  for (const DelayTail& cpu : cpus) kept.emplace_back(cpu.size(), 1.0);
  for (int step = 0; step < kSteps; ++step) {
    DelayCurve node;
    std::vector<DelayCurve> each(cpus.size());
    for (std::size_t i = 0; i < cpus.size(); ++i) {
      node.add(cpus[i], &kept[i]);
      each[i].add(cpus[i], &kept[i]);
    }
    for (std::size_t i = 0; i < cpus.size(); ++i) kept[i] = kept_shares(cpus[i], Wait(node, each[i], nodes));
  }
  return kept;
}

}  // namespace noised
