// SPDX-License-Identifier: Apache-2.0
// A process that a test has work, and blocks otherwise, so that the kernel's counts of it stand still meanwhile.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/files.h"

namespace noised::live {

/// What the kernel has counted of a task since it was born.
struct KernelCounts {
  std::uint64_t voluntary = 0;
  std::uint64_t involuntary = 0;
  std::uint64_t minor_faults = 0;
  std::uint64_t run_ns = 0;
  std::uint64_t wait_ns = 0;
  std::uint64_t runs = 0;
};
/// From /proc/PID/status, stat and schedstat.
KernelCounts counts_of(pid_t pid);

/// What it does when it is told to, in this order.
struct TaskWork {
  std::uint64_t busy_ns = 0;  ///< of the CPU's time
  unsigned naps = 0;          ///< of 1 ms
  unsigned pages = 0;         ///< touched for the first time
};

class WatchedTask {
 public:
  /// A child of this process on this CPU; it blocks until work().
  explicit WatchedTask(unsigned cpu);
  ~WatchedTask();
  WatchedTask(const WatchedTask&) = delete;
  WatchedTask& operator=(const WatchedTask&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Has it do this, and returns once it has, and blocks again.
  void work(const TaskWork& work);
  /// Returns once it has begun, by another thread's call of work(), and is runnable.
  void wait_until_it_runs() const { wait_for_state("R"); }

 private:
  void wait_for_state(const char* state) const;

  Descriptor orders_;
  Descriptor answers_;
  pid_t pid_ = -1;
};

}  // namespace noised::live
