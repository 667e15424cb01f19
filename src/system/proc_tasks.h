// SPDX-License-Identifier: Apache-2.0
// Processes and threads as /proc lists them. What ends while it is read is left out: that is no error.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace noised::system {

/// What /proc/PID/stat tells of a task.
struct TaskStat {
  std::uint32_t pid = 0;
  std::string name;  ///< any bytes; of kernel threads more than what their comm holds
  char state = '?';
  std::uint32_t parent = 0;  ///< the process that it is a child of; 0 of the first process and the kernel's first
  std::uint32_t flags = 0;   ///< the kernel's PF_*
  std::uint64_t start = 0;   ///< in ticks since boot
  unsigned cpu = 0;          ///< where it ran last

  /// Ended, and its parent may not know yet.
  [[nodiscard]] bool ended() const { return state == 'Z' || state == 'X' || state == 'x'; }
  [[nodiscard]] bool is_kernel_thread() const { return (flags & 0x200000) != 0; }  ///< PF_KTHREAD
};

/// A task, and whose it is.
struct OwnedTask {
  TaskStat stat;
  uid_t user = 0;  ///< its effective one; root's where it may not be traced by its user
};

/// The text of a file /proc/PID/stat; nothing if it is not one.
std::optional<TaskStat> parse_task_stat(std::string_view text);

/// The name as the kernel has it in task_struct::comm, which is what tracepoints tell and a BPF program compares.
std::string comm_of(const TaskStat& task);

/// A process and the one that it is a child of.
struct ProcessParent {
  std::uint32_t pid = 0;
  std::uint32_t parent = 0;
};

/// The children of these processes, and theirs. One of these itself only if it is also such a child.
std::set<std::uint32_t> descendants(const std::vector<ProcessParent>& all, const std::set<std::uint32_t>& of);

/// Numbers separated by white space, as cgroup.procs and its like have them; 0 (a task that this pid namespace cannot
/// name) and what is no number are left out.
std::vector<std::uint32_t> parse_pids(std::string_view text);

/// Whether there is such a task: asked of the kernel, for those that /proc hides from this process.
bool exists(std::uint32_t pid);

/// A mounted /proc.
class ProcTasks {
 public:
  explicit ProcTasks(std::string root) : root_(std::move(root)) {}

  /// All processes; fails where /proc itself cannot be listed.
  [[nodiscard]] Result<std::vector<std::uint32_t>> processes() const;
  /// All processes with their parents.
  [[nodiscard]] Result<std::vector<ProcessParent>> parents() const;
  /// The threads of a process, its first among them.
  [[nodiscard]] std::vector<std::uint32_t> threads(std::uint32_t process) const;
  /// A process, or a thread by its id: its file is there, though no listing shows it.
  [[nodiscard]] std::optional<TaskStat> stat(std::uint32_t pid) const;
  /// A thread of a process. Cheaper, since that of a process sums the times of all threads.
  [[nodiscard]] std::optional<TaskStat> stat(std::uint32_t process, std::uint32_t thread) const;
  /// A process, or a thread by its id, and its user: both of the same task, whoever has its id later.
  [[nodiscard]] std::optional<OwnedTask> owned(std::uint32_t pid) const;
  /// The process that a thread belongs to.
  [[nodiscard]] std::optional<std::uint32_t> process_of(std::uint32_t thread) const;

 private:
  std::string root_;
};

}  // namespace noised::system
