// SPDX-License-Identifier: Apache-2.0
// SCHED_FIFO while the budget lasts. The kernel's own budget for a thread, SCHED_DEADLINE, is refused to one that is
// bound to some of the CPUs, and this one keeps to the housekeeping CPUs.
#include "noised/drain_priority.h"

#include <time.h>

#include <algorithm>

#include "noised/privileges.h"

namespace noised::daemon {
namespace {

constexpr std::uint64_t kTellAgainNs = 60'000'000'000;

std::uint64_t thread_cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

bool RealtimeBudget::allows(std::uint64_t now_ns, std::uint64_t cpu_ns) {
  if (began_ns_ == 0 || now_ns - began_ns_ >= kWindowNs) {
    began_ns_ = now_ns;
    began_cpu_ns_ = cpu_ns;
    used_up_ = false;
  }
  if (!used_up_ && cpu_ns - began_cpu_ns_ > budget_ns_) {
    used_up_ = true;
    ++times_used_up_;
  }
  return !used_up_;
}

DrainPriority::DrainPriority(int priority, unsigned percent, const Log& log)
    : priority_(priority), percent_(percent), budget_(percent), log_(log) {}

Status DrainPriority::begin() {
  if (Status set = set_drain_priority(priority_); !set) return set;
  comes_first_ = true;
  return success();
}

void DrainPriority::after_drain(std::uint64_t now_ns) {
  const bool may = budget_.allows(now_ns, thread_cpu_ns());
  if (may == comes_first_ || !set_drain_priority(may ? priority_ : 0)) return;
  comes_first_ = may;
  if (may || (told_ns_ != 0 && now_ns - told_ns_ < kTellAgainNs)) return;
  told_ns_ = now_ns;
  log_.warning(
      "draining took more than {}% of a CPU (service.realtime_budget): until the next second, or until ordinary tasks "
      "get a CPU after it, it waits as they do; so in {} seconds so far",
      percent_, budget_.times_used_up());
}

}  // namespace noised::daemon
