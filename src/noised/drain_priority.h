// SPDX-License-Identifier: Apache-2.0
// The thread that drains before real-time tasks, for no more than a share of each second.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "noised/log.h"

namespace noised::daemon {

/// For how long in each second one thread may come before others. Pure: no clock, no I/O.
class RealtimeBudget {
 public:
  static constexpr std::uint64_t kWindowNs = 1'000'000'000;

  /// `percent` of one CPU, 1 to 100.
  explicit RealtimeBudget(unsigned percent) : budget_ns_(kWindowNs / 100 * percent) {}

  /// At this time the thread has had a CPU for `cpu_ns`, both since any time: whether it may come first until it is
  /// asked again. What it takes until then may be over the budget: it is asked after each drain.
  bool allows(std::uint64_t now_ns, std::uint64_t cpu_ns);
  /// Seconds in which it was used up.
  [[nodiscard]] std::uint64_t times_used_up() const { return times_used_up_; }

 private:
  std::uint64_t budget_ns_;
  std::uint64_t began_ns_ = 0;  // of this window
  std::uint64_t began_cpu_ns_ = 0;
  bool used_up_ = false;
  std::uint64_t times_used_up_ = 0;
};

/// Of the thread that made it.
class DrainPriority {
 public:
  /// `priority`: 1 to 99, of SCHED_FIFO.
  DrainPriority(int priority, unsigned percent, const Log& log);

  /// Makes the thread a real-time one; those that it makes from then on are ordinary ones. Fails without the right.
  Status begin();
  /// Makes it an ordinary one where its budget is used up, until the first drain of a later second: that one comes when
  /// ordinary tasks get a CPU. Two system calls a drain at most.
  void after_drain(std::uint64_t now_ns);

 private:
  int priority_;
  unsigned percent_;
  RealtimeBudget budget_;
  bool comes_first_ = false;
  std::uint64_t told_ns_ = 0;  // when it was last said that the budget was used up
  const Log& log_;
};

}  // namespace noised::daemon
