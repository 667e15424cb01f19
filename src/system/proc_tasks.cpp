// SPDX-License-Identifier: Apache-2.0
// /proc/PID/stat, /proc/PID/status and /proc/PID/task. Parents come from stat, although /proc/PID/task/TID/children
// would need fewer reads: not every kernel has it, the kernel only promises it complete while nobody forks or ends, and
// children of a thread that ended move to another one, so that it tells no more of who made them.
#include "system/proc_tasks.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "system/task_selection.h"

namespace noised::system {
namespace {

// Of the kernel's include/linux/sched.h.
constexpr std::uint32_t kWorkqueueWorker = 0x00000020;  // PF_WQ_WORKER

// The entries of a directory that are numbers. Where a process ends meanwhile, those found until then.
std::vector<std::uint32_t> list_numbers(const std::string& path, std::error_code& error) {
  namespace fs = std::filesystem;
  std::vector<std::uint32_t> numbers;
  fs::directory_iterator each(path, error);
  if (error) return numbers;
  std::error_code ignored;
  for (const fs::directory_iterator end; each != end && !ignored; each.increment(ignored)) {
    if (const auto number = to_number<std::uint32_t>(each->path().filename().native())) numbers.push_back(*number);
  }
  return numbers;
}

std::optional<TaskStat> read_stat(const std::string& path) {
  const auto text = read_file(path);
  return text ? parse_task_stat(text.value()) : std::nullopt;
}

}  // namespace

std::optional<TaskStat> parse_task_stat(std::string_view text) {
  // A task may call itself "a) R 1 (b" or have a line end in its name: nothing after the last ')' is the user's.
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  std::string_view before = text.substr(0, open);
  std::string_view after = text.substr(close + 1);
  std::array<std::string_view, 40> fields;  // numbered as in proc_pid_stat(5)
  for (std::size_t field = 3; field < fields.size(); ++field) fields.at(field) = take_word(after);
  const auto pid = to_number<std::uint32_t>(take_word(before));
  const auto parent = to_number<std::uint32_t>(fields[4]);
  const auto flags = to_number<std::uint32_t>(fields[9]);
  const auto start = to_number<std::uint64_t>(fields[22]);
  const auto cpu = to_number<unsigned>(fields[39]);
  if (!pid || *pid == 0 || fields[3].size() != 1 || !parent || !flags || !start || !cpu) return std::nullopt;
  return TaskStat{
      *pid, std::string(text.substr(open + 1, close - open - 1)), fields[3].front(), *parent, *flags, *start, *cpu};
}

std::string comm_of(const TaskStat& task) {
  std::string_view name = task.name;
  // To the name of a worker ("kworker/u8:2") /proc adds what it works on: "+events", or "-events" if it did lately.
  if ((task.flags & kWorkqueueWorker) != 0 && name.starts_with("kworker/") && !name.starts_with("kworker/R-")) {
    const std::size_t colon = name.find(':');
    if (colon != std::string_view::npos) name = name.substr(0, name.find_first_of("+-", colon));
  }
  return std::string(name.substr(0, kLongestComm));
}

std::set<std::uint32_t> descendants(const std::vector<ProcessParent>& all, const std::set<std::uint32_t>& of) {
  std::multimap<std::uint32_t, std::uint32_t> children;
  for (const ProcessParent& process : all) children.emplace(process.parent, process.pid);
  std::set<std::uint32_t> found;
  std::vector<std::uint32_t> todo(of.begin(), of.end());
  // Parents were read one after the other: what they say together may even be a circle. Each is looked at once.
  while (!todo.empty()) {
    const auto [first, last] = children.equal_range(todo.back());
    todo.pop_back();
    for (auto child = first; child != last; ++child) {
      if (found.insert(child->second).second && !of.contains(child->second)) todo.push_back(child->second);
    }
  }
  return found;
}

std::vector<std::uint32_t> parse_pids(std::string_view text) {
  std::vector<std::uint32_t> pids;
  for (std::string_view word = take_word(text); !word.empty(); word = take_word(text)) {
    if (const auto pid = to_number<std::uint32_t>(word); pid && *pid != 0) pids.push_back(*pid);
  }
  return pids;
}

// Needs no right, and is among the system calls that noised keeps; kill(2) with signal 0 is neither.
bool exists(std::uint32_t pid) { return ::sched_getscheduler(static_cast<pid_t>(pid)) >= 0 || errno != ESRCH; }

Result<std::vector<std::uint32_t>> ProcTasks::processes() const {
  std::error_code error;
  auto pids = list_numbers(root_, error);
  if (error) return failure("cannot list " + root_ + ": " + error.message(), "mount it: mount -t proc proc /proc");
  return pids;
}

Result<std::vector<ProcessParent>> ProcTasks::parents() const {
  const auto pids = processes();
  if (!pids) return pids.error();
  std::vector<ProcessParent> all;
  for (const std::uint32_t pid : pids.value()) {
    if (const auto task = stat(pid, pid)) all.push_back({pid, task->parent});
  }
  return all;
}

std::vector<std::uint32_t> ProcTasks::threads(std::uint32_t process) const {
  std::error_code ended;
  return list_numbers(fmt::format("{}/{}/task", root_, process), ended);
}

std::optional<TaskStat> ProcTasks::stat(std::uint32_t pid) const {
  return read_stat(fmt::format("{}/{}/stat", root_, pid));
}

std::optional<TaskStat> ProcTasks::stat(std::uint32_t process, std::uint32_t thread) const {
  return read_stat(fmt::format("{}/{}/task/{}/stat", root_, process, thread));
}

// The directory stands for the task, and not for its number.
std::optional<OwnedTask> ProcTasks::owned(std::uint32_t pid) const {
  const Descriptor directory(::open(fmt::format("{}/{}", root_, pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat about{};
  if (!directory || ::fstat(directory.get(), &about) != 0) return std::nullopt;
  const Descriptor file(::openat(directory.get(), "stat", O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> text{};
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : -1;
  if (size <= 0) return std::nullopt;
  auto stat = parse_task_stat({text.data(), static_cast<std::size_t>(size)});
  if (!stat) return std::nullopt;
  return OwnedTask{std::move(*stat), about.st_uid};
}

std::optional<std::uint32_t> ProcTasks::process_of(std::uint32_t thread) const {
  const auto text = read_file(fmt::format("{}/{}/status", root_, thread));
  if (!text) return std::nullopt;
  // The name stands before it, but with its line ends escaped.
  constexpr std::string_view kProcess = "\nTgid:";
  const std::size_t found = text.value().find(kProcess);
  if (found == std::string::npos) return std::nullopt;
  std::string_view rest = std::string_view(text.value()).substr(found + kProcess.size());
  return to_number<std::uint32_t>(take_word(rest));
}

}  // namespace noised::system
