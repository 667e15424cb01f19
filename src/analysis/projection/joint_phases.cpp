// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/joint_phases.h"

#include <algorithm>

namespace noised::analysis {

JointPhases::JointPhases(std::uint64_t grain_ns, std::span<const std::uint64_t> observed_ns,
                         std::uint64_t all_observed_ns, std::size_t most_waiting)
    : all_(all_observed_ns, true), now_(2 * observed_ns.size()), most_waiting_(most_waiting) {
  for (const std::uint64_t each : observed_ns) cpus_.emplace_back(grain_ns, each, observed_ns.size() > 1);
}

void JointPhases::told(std::size_t cpu, std::size_t before) {
  if (!complete_ || cpus_.size() == 1) return;
  waiting_ += cpus_[cpu].waiting() - before;
  merge();
  if (waiting_ <= most_waiting_) return;
  complete_ = false;
  for (SlidingPhases& each : cpus_) each.forget();
}

void JointPhases::begin(std::size_t cpu, std::uint64_t first_ns) {
  const std::size_t before = cpus_[cpu].waiting();
  cpus_[cpu].begin(first_ns);
  told(cpu, before);
}

void JointPhases::detour(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) {
  const std::size_t before = cpus_[cpu].waiting();
  cpus_[cpu].detour(start_ns, end_ns);
  told(cpu, before);
}

void JointPhases::end(std::size_t cpu, std::uint64_t last_ns) {
  const std::size_t before = cpus_[cpu].waiting();
  cpus_[cpu].end(last_ns);
  told(cpu, before);
}

// Of all that they have in common: until the first of them ends, and as badly seen as the worst.
Begins JointPhases::slowest(const Begins& one, const Begins& other) {
  return {std::min(one.end_ns, other.end_ns), std::max(one.seen, other.seen), std::max(one.level_ns, other.level_ns),
          std::max(one.done_ns, other.done_ns), std::min(one.away_since_ns, other.away_since_ns)};
}

// Adds what is known of all CPUs, from one end of any CPU's begins to the next, until a CPU has nothing to go on with.
void JointPhases::merge() {
  for (;;) {
    std::size_t at = 1;
    while (at < cpus_.size()) at = now_[2 * at].end_ns == now_[at].end_ns ? 2 * at : 2 * at + 1;
    if (now_[at].end_ns > now_ns_) {
      all_.add(now_[1]);
      now_ns_ = now_[at].end_ns;
    }
    if (!cpus_[at - cpus_.size()].take(now_[at])) return;
    --waiting_;
    for (at /= 2; at > 0; at /= 2) now_[at] = slowest(now_[2 * at], now_[2 * at + 1]);
  }
}

}  // namespace noised::analysis
