// SPDX-License-Identifier: Apache-2.0
// The thread that drains before real-time tasks, for no more than a share of the time.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "noised/log.h"

namespace noised::daemon {

/// For how much of the time one thread may come before others. The share of one second can be saved up; when it is
/// used up, the thread is an ordinary one until it is there again, and what was taken beyond it, too: so no more than
/// the share is taken in the long run, however long a drain is. Pure: no clock, no I/O.
class RealtimeBudget {
 public:
  /// `percent` of one CPU, 1 to 100.
  explicit RealtimeBudget(unsigned percent)
      : percent_(percent), saved_ns_(kSecondNs / 100 * percent), left_ns_(saved_ns_) {}

  /// At this time the thread has had a CPU for `cpu_ns`, both since any time: whether it may come first until it is
  /// asked again. What it takes until then may be over the budget: it is asked after each drain.
  bool allows(std::uint64_t now_ns, std::uint64_t cpu_ns);
  [[nodiscard]] std::uint64_t times_used_up() const { return times_used_up_; }

 private:
  static constexpr std::int64_t kSecondNs = 1'000'000'000;

  std::int64_t percent_;
  std::int64_t saved_ns_;  // at most
  std::int64_t left_ns_;
  std::uint64_t asked_ns_ = 0;  // 0: not yet
  std::uint64_t asked_cpu_ns_ = 0;
  bool used_up_ = false;
  std::uint64_t times_used_up_ = 0;
};

/// Of the thread that made it.
class DrainPriority {
 public:
  struct System {
    std::function<Status(int priority)> set;     ///< of the caller: 1 to 99 of SCHED_FIFO, or 0, an ordinary one
    std::function<std::uint64_t()> cpu_time_ns;  ///< of the caller
  };
  static System system();

  /// `priority`: 1 to 99, of SCHED_FIFO.
  DrainPriority(int priority, unsigned percent, const Log& log, System of = system());

  /// Makes the thread a real-time one; those that it makes from then on are ordinary ones. Fails without the right.
  Status begin();
  /// Makes it an ordinary one where its budget is used up, until that is there again, and ordinary tasks get a CPU. Two
  /// system calls a drain at most. Says so once a minute.
  void after_drain(std::uint64_t now_ns);
  /// Makes it an ordinary one for good.
  void end();

 private:
  int priority_;
  unsigned percent_;
  RealtimeBudget budget_;
  bool comes_first_ = false;
  std::uint64_t told_ns_ = 0;  // when it was last said that the budget was used up, or that it was refused
  const Log& log_;
  System system_;
};

}  // namespace noised::daemon
