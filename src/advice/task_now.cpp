// SPDX-License-Identifier: Apache-2.0
// /proc/PID/stat and status. A thread's files are there under its own id, though no listing shows them.
#include "advice/task_now.h"

#include <charconv>
#include <filesystem>
#include <sstream>

#include "base/cpus.h"
#include "base/read_file.h"

namespace noised {
namespace {

// Of the kernel's include/linux/sched.h, the same since 2.6.
constexpr unsigned long kKernelThread = 0x00200000;  // PF_KTHREAD
constexpr unsigned long kFixed = 0x04000000;         // PF_NO_SETAFFINITY

}  // namespace

std::optional<TaskNow> read_task(unsigned pid, const std::string& name, const std::string& sysroot) {
  const std::filesystem::path directory = std::filesystem::path(sysroot) / "proc" / std::to_string(pid);
  const auto stat = read_file((directory / "stat").string());
  const auto status = read_file((directory / "status").string());
  if (!stat || !status) return std::nullopt;
  // The name may hold spaces and parentheses: what follows it begins after the last one.
  const std::size_t open = stat.value().find('(');
  const std::size_t close = stat.value().rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  // 15 characters are what traces have of a name; of kernel threads this file has more.
  if (stat.value().substr(open + 1, close - open - 1).substr(0, 15) != name) return std::nullopt;
  std::istringstream rest(stat.value().substr(close + 1));
  std::string skipped;
  unsigned long flags = 0;
  for (int field = 3; field < 9; ++field) rest >> skipped;  // state, parent, group, session, terminal, its group
  if (!(rest >> flags)) return std::nullopt;
  TaskNow task{pid, {}, (flags & kKernelThread) != 0, (flags & kFixed) != 0};
  constexpr std::string_view kAllowed = "Cpus_allowed_list:";
  const std::size_t allowed = status.value().find(kAllowed);
  if (allowed == std::string::npos) return std::nullopt;
  const std::size_t start = allowed + kAllowed.size();
  auto cpus = parse_cpu_file(std::string_view(status.value()).substr(start, status.value().find('\n', start) - start));
  if (!cpus) return std::nullopt;
  task.cpus = std::move(cpus).value();
  return task;
}

}  // namespace noised
