// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/joint_phases.h"

#include <algorithm>

namespace noised::analysis {

void JointPhases::CpuBegins::tell(const Begins& begins) {
  if (begins.end_ns <= told_ns_) return;
  begins_.push_back(begins);
  told_ns_ = begins.end_ns;
}

bool JointPhases::CpuBegins::take(Begins& next) {
  if (begins_.empty()) return false;
  next = begins_.front();
  begins_.pop_front();
  return true;
}

void JointPhases::CpuBegins::begin(std::uint64_t first_ns) {
  first_ns_ = free_ns_ = std::max(first_ns, told_ns_);
  noise_ns_ = start_work_ns_ = within_ns_ = 0;
  delays_.clear();
  observed_ = true;
  tell({first_ns_, Seen::nothing});
}

// As SlidingPhases::advance. The phase that slides begins at told_ns_; all those that begin in one detour reach its end
// without any work, and then each of them has the same way to go.
void JointPhases::CpuBegins::slide(std::uint64_t work_ns) {
  while (!delays_.empty() && delays_.front().work_ns <= work_ns) {
    const Delay first = delays_.front();
    delays_.pop_front();
    tell({told_ns_ + (first.work_ns - start_work_ns_), Seen::whole, within_ns_});
    start_work_ns_ = first.work_ns;
    tell({told_ns_ + first.length_ns, Seen::whole, 0, told_ns_ + within_ns_});
    within_ns_ -= first.length_ns;
  }
  tell({told_ns_ + (work_ns - start_work_ns_), Seen::whole, within_ns_});
  start_work_ns_ = work_ns;
}

void JointPhases::CpuBegins::observe(std::uint64_t until_ns) {
  if (!observed_) return;
  free_ns_ = std::max(free_ns_, until_ns);
  const std::uint64_t work_ns = free_ns_ - first_ns_ - noise_ns_;
  if (work_ns >= grain_ns_) slide(work_ns - grain_ns_);
}

void JointPhases::CpuBegins::detour(std::uint64_t start_ns, std::uint64_t end_ns) {
  start_ns = std::max(start_ns, free_ns_);
  if (!observed_ || end_ns <= start_ns) return;
  observe(start_ns);
  const std::uint64_t work_ns = start_ns - first_ns_ - noise_ns_;
  const std::uint64_t length_ns = end_ns - start_ns;
  if (!delays_.empty() && delays_.back().work_ns == work_ns) {
    delays_.back().length_ns += length_ns;
  } else {
    delays_.push_back({work_ns, length_ns});
  }
  within_ns_ += length_ns;
  noise_ns_ += length_ns;
  free_ns_ = end_ns;
}

void JointPhases::CpuBegins::end(std::uint64_t last_ns) {
  if (!observed_) return;
  observe(last_ns);
  observed_ = false;
  tell({free_ns_, Seen::begun});
}

JointPhases::JointPhases(std::uint64_t grain_ns, std::size_t cpus, ExcessBlocks& excess, std::size_t most_waiting)
    : excess_(excess), cpus_(cpus, CpuBegins(grain_ns)), now_(2 * cpus), most_waiting_(most_waiting) {}

void JointPhases::told(std::size_t cpu, std::size_t before) {
  waiting_ += cpus_[cpu].waiting() - before;
  merge();
  if (waiting_ <= most_waiting_) return;
  complete_ = false;
  for (CpuBegins& each : cpus_) each.forget();
}

void JointPhases::begin(std::size_t cpu, std::uint64_t first_ns) {
  if (!complete_) return;
  const std::size_t before = cpus_[cpu].waiting();
  cpus_[cpu].begin(first_ns);
  told(cpu, before);
}

void JointPhases::detour(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) {
  if (!complete_) return;
  const std::size_t before = cpus_[cpu].waiting();
  cpus_[cpu].detour(start_ns, end_ns);
  told(cpu, before);
}

void JointPhases::end(std::size_t cpu, std::uint64_t last_ns) {
  if (!complete_) return;
  const std::size_t before = cpus_[cpu].waiting();
  cpus_[cpu].end(last_ns);
  told(cpu, before);
}

void JointPhases::finish() {
  for (std::size_t cpu = 0; cpu < cpus_.size(); ++cpu) end(cpu, 0);
}

// Of all that they have in common: until the first of them ends, and as badly seen as the worst.
JointPhases::Begins JointPhases::slowest(const Begins& one, const Begins& other) {
  return {std::min(one.end_ns, other.end_ns), std::max(one.seen, other.seen), std::max(one.level_ns, other.level_ns),
          std::max(one.done_ns, other.done_ns)};
}

// Adds what is known of all CPUs, from one end of any CPU's begins to the next, until a CPU has nothing to go on with.
void JointPhases::merge() {
  for (;;) {
    std::size_t at = 1;
    while (at < cpus_.size()) at = now_[2 * at].end_ns == now_[at].end_ns ? 2 * at : 2 * at + 1;
    if (now_[at].end_ns > now_ns_) add(now_[1]);
    if (!cpus_[at - cpus_.size()].take(now_[at])) return;
    --waiting_;
    for (at /= 2; at > 0; at /= 2) now_[at] = slowest(now_[2 * at], now_[2 * at + 1]);
  }
}

void JointPhases::add(const Begins& node) {
  const std::uint64_t length_ns = node.end_ns - now_ns_;
  if (node.seen != Seen::nothing) observed_ns_ += length_ns;
  if (node.seen == Seen::begun) excess_.seek(observed_ns_);
  if (node.seen == Seen::whole) {
    const std::uint64_t high_ns = std::max(node.done_ns, now_ns_) - now_ns_;
    const std::uint64_t falls_ns = std::min(high_ns - std::min(high_ns, node.level_ns), length_ns);
    excess_.add_ramp(high_ns - falls_ns, high_ns);
    excess_.add_level(node.level_ns, length_ns - falls_ns);
  }
  now_ns_ = node.end_ns;
}

}  // namespace noised::analysis
