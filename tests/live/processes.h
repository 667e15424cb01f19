// SPDX-License-Identifier: Apache-2.0
// Where tasks may run, and what a process has in memory.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstdint>

namespace noised::live {

/// Whether this thread may run on the CPU; false of one that is gone. 0: the caller.
bool may_run_on(pid_t task, unsigned cpu);
/// Lets this thread run on the CPU alone; fails the test where that is refused. 0: the caller.
void move_to(pid_t task, unsigned cpu);
/// By its page tables. VmRSS is late: until Linux 6.2 a thread tells what it took once it has 64 pages more, and since,
/// once a CPU has (520 KiB at once, seen on 6.1, while it had grown a page at a time).
std::uint64_t resident_kib(pid_t pid);

/// Keeps the caller, and whom it starts meanwhile, off a CPU.
class Elsewhere {
 public:
  explicit Elsewhere(unsigned cpu);
  ~Elsewhere();
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;

 private:
  cpu_set_t before_{};
};

}  // namespace noised::live
