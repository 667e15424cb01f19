// SPDX-License-Identifier: Apache-2.0
// Which tasks a user means: all, some processes, those of a name, or those of a cgroup.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <noised/result.h>

namespace noised {

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

}  // namespace noised
