// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/sliding_phases.h"

#include <algorithm>

namespace noised::analysis {

void SlidingPhases::tell(const Begins& begins) {
  if (begins.end_ns <= told_ns_) return;
  excess_.add(begins);
  if (taken_) told_.push_back(begins);
  told_ns_ = begins.end_ns;
}

bool SlidingPhases::take(Begins& next) {
  if (told_.empty()) return false;
  next = told_.front();
  told_.pop_front();
  return true;
}

void SlidingPhases::forget() {
  taken_ = false;
  told_ = {};
}

void SlidingPhases::begin(std::uint64_t first_ns) {
  first_ns_ = free_ns_ = std::max(first_ns, told_ns_);
  noise_ns_ = start_work_ns_ = within_ns_ = 0;
  delays_.clear();
  observed_ = true;
  tell({first_ns_, Begins::Seen::nothing});
}

// The phase slides from told_ns_ until so much work is done at its begin. All detours that it will meet on the way are
// in delays_, and none beyond: each was put there when the phase's end reached it. Those that begin in one detour reach
// its end without any work, and then each of them has the same way to go.
void SlidingPhases::slide(std::uint64_t work_ns) {
  while (!delays_.empty() && delays_.front().work_ns <= work_ns) {
    const Delay first = delays_.front();
    delays_.pop_front();
    tell({told_ns_ + (first.work_ns - start_work_ns_), Begins::Seen::whole, within_ns_});
    start_work_ns_ = first.work_ns;
    tell({told_ns_ + first.length_ns, Begins::Seen::whole, 0, told_ns_ + within_ns_, told_ns_});
    within_ns_ -= first.length_ns;
  }
  tell({told_ns_ + (work_ns - start_work_ns_), Begins::Seen::whole, within_ns_});
  start_work_ns_ = work_ns;
}

void SlidingPhases::observe(std::uint64_t until_ns) {
  if (!observed_) return;
  free_ns_ = std::max(free_ns_, until_ns);
  const std::uint64_t work_ns = free_ns_ - first_ns_ - noise_ns_;
  if (work_ns >= grain_ns_) slide(work_ns - grain_ns_);
}

void SlidingPhases::detour(std::uint64_t start_ns, std::uint64_t end_ns) {
  start_ns = std::max(start_ns, free_ns_);
  if (!observed_) return;
  observe(start_ns);  // also if nothing is left of the detour: others wait to know
  if (end_ns <= start_ns) return;
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

void SlidingPhases::end(std::uint64_t last_ns) {
  if (!observed_) return;
  observe(last_ns);
  observed_ = false;
  tell({free_ns_, Begins::Seen::begun});
}

}  // namespace noised::analysis
