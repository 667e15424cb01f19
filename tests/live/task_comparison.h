// SPDX-License-Identifier: Apache-2.0
// Watched tasks by noised and by ftrace, run by run, wait by wait and interruption by interruption.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recount.h"
#include "task_recount.h"
#include "told_tasks.h"

namespace noised::live {

/// The counter's time in the clock that noised tells, by moments that were read now and then.
class TickClock {
 public:
  void read();
  [[nodiscard]] const std::vector<Moment>& moments() const { return moments_; }
  [[nodiscard]] std::int64_t to_ns(std::uint64_t ticks) const;
  /// How far to_ns() may be wrong: twice what the moments deviate from a line through those beside them. There are
  /// three or more.
  [[nodiscard]] std::int64_t doubt_ns() const;
  /// How much of any time the clock of the scheduler, which nobody adjusts, goes faster or slower than the other.
  [[nodiscard]] double skew() const;

 private:
  std::vector<Moment> moments_;
  std::vector<std::uint64_t> unadjusted_ns_;  // at the same moments
};

/// Of one figure of a task: how often it was compared, and what both have.
struct Compared {
  std::uint64_t count = 0;
  std::int64_t told_ns = 0;
  std::int64_t recounted_ns = 0;
  std::int64_t largest_ns = 0;  ///< difference of one, without its sign
  std::uint64_t beyond = 0;     ///< that differ by more than both tracers cost at their ends, in 90% of cases

  void add(std::int64_t told, std::int64_t recounted);
  Compared& operator+=(const Compared& other);
};

struct ComparedTask {
  int pid = 0;
  std::string name;
  Compared runs, waits, interruptions;
};

/// Where the two need not agree, each for its reason.
struct Exceptions {
  std::uint64_t lost = 0;       ///< missing in noised, of what it says that it lost
  std::uint64_t uncounted = 0;  ///< waits that the kernel counts as nothing: a wakeup brought the switch about, and at
                                ///< such a switch it does not read its clock again,
  std::int64_t uncounted_ns = 0;  ///< and their time by ftrace
  std::uint64_t signalled = 0;    ///< switches of tasks that went to sleep and were kept from it by a signal: voluntary
                                  ///< by the kernel's count, while the tracepoint says that they could run on
  std::uint64_t moved = 0;        ///< waits of which the kernel does not count what it took to move the task
  std::uint64_t handed_over_late = 0;  ///< waits as in RecountedWait, of which noised has the kernel's count alone
};

struct TaskComparison {
  std::vector<ComparedTask> tasks;
  Exceptions exceptions;
  std::uint64_t yields = 0;
  std::vector<std::string> disagreements;
};

/// `end_ns`: what both tracers cost at an end of an interval, in 90% of cases.
TaskComparison compare_tasks(const ToldTasks& told, const TaskRecount& recounted, const TickClock& clock,
                             std::int64_t end_ns);

}  // namespace noised::live
