// SPDX-License-Identifier: Apache-2.0
// SCHED_FIFO while the budget lasts. The kernel's own budget for a thread, SCHED_DEADLINE, is refused to one that is
// bound to some of the CPUs, and this one keeps to the housekeeping CPUs.
#include "noised/drain_priority.h"

#include <time.h>

#include <algorithm>
#include <utility>

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

// What it takes as an ordinary thread costs nobody else's time: it is not counted.
bool RealtimeBudget::allows(std::uint64_t now_ns, std::uint64_t cpu_ns) {
  if (asked_ns_ != 0) {
    const std::int64_t earned_ns = static_cast<std::int64_t>(now_ns - asked_ns_) / 100 * percent_;
    left_ns_ = std::min(left_ns_ + earned_ns, saved_ns_);
    if (!used_up_) left_ns_ -= static_cast<std::int64_t>(cpu_ns - asked_cpu_ns_);
  }
  asked_ns_ = now_ns;
  asked_cpu_ns_ = cpu_ns;
  if (used_up_) {
    used_up_ = left_ns_ < saved_ns_;
  } else if (left_ns_ < 0) {
    used_up_ = true;
    ++times_used_up_;
  }
  return !used_up_;
}

DrainPriority::System DrainPriority::system() { return {set_drain_priority, thread_cpu_ns}; }

DrainPriority::DrainPriority(int priority, unsigned percent, const Log& log, System of)
    : priority_(priority), percent_(percent), budget_(percent), log_(log), system_(std::move(of)) {}

Status DrainPriority::begin() {
  if (Status set = system_.set(priority_); !set) return set;
  comes_first_ = true;
  return success();
}

void DrainPriority::after_drain(std::uint64_t now_ns) {
  const bool may = budget_.allows(now_ns, system_.cpu_time_ns());
  if (may == comes_first_) return;
  const Status set = system_.set(may ? priority_ : 0);
  if (set) comes_first_ = may;
  if ((set && may) || (told_ns_ != 0 && now_ns - told_ns_ < kTellAgainNs)) return;
  told_ns_ = now_ns;
  if (!set) return log_.warning("{}", set.error().line());
  log_.warning(
      "draining took more than {}% of a CPU (service.realtime_budget): until as much has been saved up again, and "
      "ordinary tasks get a CPU, it waits as they do; {} times so far",
      percent_, budget_.times_used_up());
}

void DrainPriority::end() {
  if (std::exchange(comes_first_, false)) (void)system_.set(0);
}

}  // namespace noised::daemon
