// SPDX-License-Identifier: Apache-2.0
// The tasks that a selection means now.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <noised/result.h>

#include "trace/proc_tasks.h"
#include "trace/selection.h"

namespace noised {

/// A thread and its process.
struct ChosenTask {
  std::uint32_t pid = 0;   ///< of the thread
  std::uint32_t tgid = 0;  ///< of its process
  friend bool operator==(const ChosenTask&, const ChosenTask&) = default;
};

/// Looks tasks up in /proc and cgroupfs, and changes nothing there. Each look reads the stat file of every process of
/// the machine (of every thread, by name) at least twice, about 7 us each: not for the thread that drains the rings.
class TaskSelector {
 public:
  /// Where /proc is: its self/mountinfo tells where the cgroup hierarchies are.
  explicit TaskSelector(std::string proc = "/proc") : proc_root_(std::move(proc)), proc_(proc_root_) {}

  /// The selection as of now, to be asked for again and again: pids become those of processes, told from later ones
  /// with the same pid; the path of a cgroup becomes that within its hierarchy, as the tracepoint cgroup_attach_task
  /// tells it (is_within() is the test that a BPF program does). Fails where a pid or a cgroup is none.
  [[nodiscard]] Result<Selection> settle(Selection selection) const;

  /// Every thread that the selection means now, by pid. Of pids: those of the processes and of all their descendants.
  /// Of a comm: those with that name, and all of the descendants of their processes (/proc does not tell the thread
  /// that made a child); maybe none. Of a cgroup: those in it and below it, in any hierarchy. What is gone, or goes
  /// meanwhile, is left out (a zombie is still there); but a selection that is not settled is settled first, and fails
  /// as above.
  /// A child that a chosen task makes while the last pass runs may be in none: whoever learns of new children from the
  /// kernel lets it know these tasks, and asks again until there is nothing new.
  [[nodiscard]] Result<std::vector<ChosenTask>> tasks(const Selection& selection) const;
  /// The pids of tasks().
  [[nodiscard]] Result<std::vector<std::uint32_t>> threads(const Selection& selection) const;

  /// True if every process of a selection by pids has ended: it is gone, or no thread of it is more than a zombie.
  /// Of other selections never. Settled, please: the pid of a thread is gone before its process is.
  [[nodiscard]] bool ended(const Selection& selection) const;

 private:
  struct Chosen;
  [[nodiscard]] Status look(const Selection& selection, Chosen& chosen) const;
  [[nodiscard]] Status look_for_roots(const Selection& selection, Chosen& chosen) const;
  [[nodiscard]] Status look_in_cgroup(const std::string& path, Chosen& chosen) const;
  [[nodiscard]] Status look_for_comm(const std::string& comm, Chosen& chosen) const;
  [[nodiscard]] bool lives(std::uint32_t process) const;

  std::string proc_root_;
  ProcTasks proc_;
};

}  // namespace noised
