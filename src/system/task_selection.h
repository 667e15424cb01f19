// SPDX-License-Identifier: Apache-2.0
// The tasks that a selection means now.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "system/proc_tasks.h"

namespace noised::system {

// Which tasks a user means: all, some processes, those of a name, or those of a cgroup.

/// What tasks are chosen by.
enum class SelectBy { all, pids, comm, cgroup };

/// A user's choice. As the user wrote it, until TaskSelector::settle() makes it that of one moment.
struct Selection {
  SelectBy by = SelectBy::all;
  std::vector<std::uint32_t> pids;  ///< by pids: each once; of threads or processes, once settled of processes
  std::string text;                 ///< by comm: the name; by cgroup: the path, once settled that in its hierarchy
  bool settled = false;
  std::vector<std::uint64_t> starts;  ///< of settled pids: when each process began, in ticks since boot
};

/// The longest name of a task that the kernel keeps, in bytes (its TASK_COMM_LEN, less the terminating NUL).
inline constexpr std::size_t kLongestComm = 15;

/// From the query of a request: pids such as "12,13", the name of tasks, or the path of a cgroup; nothing means all.
/// Usage error where more than one is given, or where one can mean no task.
Result<Selection> make_selection(std::optional<std::string_view> pids, std::optional<std::string_view> comm,
                                 std::optional<std::string_view> cgroup);

/// "pid 12, 13", "comm lmp", "cgroup /slurm/uid_0/job_7", "all"; always one line.
std::string describe(const Selection& selection);

/// The path with single slashes, none at its end, and no "."; nothing if it is not absolute or has "..".
std::optional<std::string> clean_path(std::string_view path);

/// True if the path is the other one or below it; both clean.
bool is_within(std::string_view path, std::string_view above);

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
  [[nodiscard]] Error not_found(std::uint32_t pid) const;

  std::string proc_root_;
  ProcTasks proc_;
};

}  // namespace noised::system
