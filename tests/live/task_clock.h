// SPDX-License-Identifier: Apache-2.0
// How long a thread has had its CPU, from switch to switch.
#pragma once

#include <cstdint>

#include "base/files.h"

namespace noised::live {

/// The kernel's perf clock of the thread that makes it. It begins just after the switch to the thread and ends just
/// before the switch from it, so it leaves out the switch itself, which noised's intervals have: switch_gap_ns(). The
/// thread's CPU clock is worse, for it begins with the wakeup: where an activation had the CPU for 2,057 us by ftrace,
/// that clock told 2,076 and this one 2,050 (emulated; the wakeup came 39 us before the switch). What the host steals
/// while the thread has the CPU is in it.
class TaskClock {
 public:
  /// The first of all sleeps until every CPU was interrupted: make it before the thread is on a measured CPU.
  TaskClock();

  /// 0 where the kernel has none.
  [[nodiscard]] std::uint64_t ns() const;

 private:
  Descriptor event_;
};

/// What the clocks of two threads on a CPU leave out at a switch, where one takes it from the other every 10 ms: the
/// median of 40. (Emulated, 5 to 20 us; where they take turns without a break, 1.4.) 0 if it cannot be measured.
std::uint64_t switch_gap_ns(unsigned cpu);

}  // namespace noised::live
