// SPDX-License-Identifier: Apache-2.0
// Tasks are born and end while /proc is read, so it is read again until it has nothing new.
#include "system/task_selection.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "system/cgroup_trees.h"
#include "system/namespaces.h"

namespace noised::system {
namespace {

Result<Selection> select_pids(std::string_view text) {
  Selection selection{SelectBy::pids, {}, {}, false, {}};
  std::string_view rest = text;
  for (;;) {
    const std::string_view item = rest.substr(0, rest.find(','));
    std::uint32_t pid = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), pid);
    // Pid 0 is the idle task of every CPU, and runs when nobody wants to.
    if (error != std::errc{} || end != item.data() + item.size() || pid == 0)
      return usage_error("pid " + in_quotes(item) + ": not the number of a process",
                         "write one or more, such as 12 or 12,13");
    if (std::ranges::find(selection.pids, pid) == selection.pids.end()) selection.pids.push_back(pid);
    if (item.size() == rest.size()) return selection;
    rest.remove_prefix(item.size() + 1);
  }
}

Result<Selection> select_comm(std::string_view name) {
  if (name.empty()) return usage_error("comm is empty", "write the name of a task, as ps -eLo comm shows it");
  if (name.size() > kLongestComm)
    return usage_error(fmt::format("comm {}: the kernel keeps {} bytes of a name", in_quotes(name), kLongestComm),
                       "write its beginning, " + in_quotes(name.substr(0, kLongestComm)));
  return Selection{SelectBy::comm, {}, std::string(name), false, {}};
}

Result<Selection> select_cgroup(std::string_view path) {
  auto clean = clean_path(path);
  if (!clean)
    return usage_error("cgroup " + in_quotes(path) + ": not an absolute path without '..'",
                       "write a path of /proc/PID/cgroup or one below /sys/fs/cgroup");
  return Selection{SelectBy::cgroup, {}, std::move(*clean), false, {}};
}

}  // namespace

Result<Selection> make_selection(std::optional<std::string_view> pids, std::optional<std::string_view> comm,
                                 std::optional<std::string_view> cgroup) {
  if (int{pids.has_value()} + int{comm.has_value()} + int{cgroup.has_value()} > 1)
    return usage_error("tasks are selected by more than one of pid, comm and cgroup", "give one of them");
  if (pids) return select_pids(*pids);
  if (comm) return select_comm(*comm);
  if (cgroup) return select_cgroup(*cgroup);
  return Selection{};
}

std::string describe(const Selection& selection) {
  switch (selection.by) {
    case SelectBy::pids:
      return fmt::format("pid {}", fmt::join(selection.pids, ", "));
    case SelectBy::comm:
      return "comm " + on_one_line(selection.text);
    case SelectBy::cgroup:
      return "cgroup " + on_one_line(selection.text);
    case SelectBy::all:
      break;
  }
  return "all";
}

std::optional<std::string> clean_path(std::string_view path) {
  // No path that the kernel takes has a NUL; one here would end it early, and mean another.
  if (!path.starts_with('/') || path.find('\0') != std::string_view::npos) return std::nullopt;
  std::string clean;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::string_view part = path.substr(0, path.find('/'));
    if (part == "..") return std::nullopt;
    if (!part.empty() && part != ".") clean.append("/").append(part);
    path.remove_prefix(part.size());
  }
  return clean.empty() ? "/" : clean;
}

bool is_within(std::string_view path, std::string_view above) {
  if (above == "/") return path.starts_with('/');
  return path.starts_with(above) && (path.size() == above.size() || path[above.size()] == '/');
}

namespace {

// On a machine that makes processes faster than they can be read there is always one more.
constexpr int kMostPasses = 5;

// True if this process is (still) the one that was settled on; true of any where that is not known.
bool is_same(const Selection& selection, std::size_t index, const TaskStat& process) {
  return index >= selection.starts.size() || selection.starts[index] == process.start;
}

}  // namespace

// What passes have found so far. What one found stays, even where its parent ends and the next could not tell whose
// child it was.
struct TaskSelector::Chosen {
  std::map<std::uint32_t, std::uint32_t> threads;  // and their processes
  std::set<std::uint32_t> whole;                   // processes with all that they have
  std::set<std::uint32_t> parents;                 // processes of which only the children are chosen
};

Error TaskSelector::not_found(std::uint32_t pid) const {
  if (!proc_hides_tasks(proc_root_) || !exists(pid))
    return failure(fmt::format("pid {}: no such process", pid), "ps -e lists those that there are");
  return failure(fmt::format("pid {}: /proc hides this process from noised (its mount option hidepid)", pid),
                 "mount it with gid=GROUP too, and give noised the group (SupplementaryGroups=GROUP in its unit)");
}

Result<Selection> TaskSelector::settle(Selection selection) const {
  if (selection.settled) return selection;
  if (selection.by == SelectBy::cgroup) {
    const auto trees = CgroupTrees::mounted(proc_root_);
    if (!trees) return trees.error();
    auto path = trees.value().find(selection.text);
    if (!path) return path.error();
    selection.text = std::move(path).value();
  }
  if (selection.by == SelectBy::pids) {
    std::vector<std::uint32_t> processes;
    std::vector<std::uint64_t> starts;
    for (const std::uint32_t pid : selection.pids) {
      const auto process = proc_.process_of(pid);
      const auto stat = process ? proc_.stat(*process, *process) : std::nullopt;
      if (!stat) return not_found(pid);
      if (std::ranges::find(processes, *process) != processes.end()) continue;  // of another thread of it
      processes.push_back(*process);
      starts.push_back(stat->start);
    }
    selection.pids = std::move(processes);
    selection.starts = std::move(starts);
  }
  selection.settled = true;
  return selection;
}

Result<std::vector<ChosenTask>> TaskSelector::tasks(const Selection& selection) const {
  if (!selection.settled) {
    const auto settled = settle(selection);
    return settled ? tasks(settled.value()) : Result<std::vector<ChosenTask>>(settled.error());
  }
  Chosen chosen;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    const std::size_t before = chosen.threads.size();
    if (const Status looked = look(selection, chosen); !looked) return looked.error();
    if (chosen.threads.size() == before) break;
  }
  std::vector<ChosenTask> tasks;
  tasks.reserve(chosen.threads.size());
  for (const auto& [thread, process] : chosen.threads) tasks.push_back({thread, process});
  return tasks;
}

Result<std::vector<std::uint32_t>> TaskSelector::threads(const Selection& selection) const {
  const auto found = tasks(selection);
  if (!found) return found.error();
  std::vector<std::uint32_t> pids;
  pids.reserve(found.value().size());
  for (const ChosenTask& task : found.value()) pids.push_back(task.pid);
  return pids;
}

// One pass.
Status TaskSelector::look(const Selection& selection, Chosen& chosen) const {
  if (selection.by == SelectBy::cgroup) return look_in_cgroup(selection.text, chosen);
  if (Status looked = look_for_roots(selection, chosen); !looked) return looked;
  if (selection.by != SelectBy::all) {
    const auto parents = proc_.parents();
    if (!parents) return parents.error();
    std::set<std::uint32_t> roots = chosen.parents;
    roots.insert(chosen.whole.begin(), chosen.whole.end());
    chosen.whole.merge(descendants(parents.value(), roots));
  }
  for (const std::uint32_t process : chosen.whole) {
    for (const std::uint32_t thread : proc_.threads(process)) chosen.threads.emplace(thread, process);
  }
  return success();
}

// The processes that the selection itself tells, whose descendants are to be found.
Status TaskSelector::look_for_roots(const Selection& selection, Chosen& chosen) const {
  if (selection.by == SelectBy::comm) return look_for_comm(selection.text, chosen);
  if (selection.by == SelectBy::all) {
    const auto processes = proc_.processes();
    if (!processes) return processes.error();
    chosen.whole.insert(processes.value().begin(), processes.value().end());
    return success();
  }
  for (std::size_t i = 0; i < selection.pids.size(); ++i) {
    const std::uint32_t pid = selection.pids[i];
    const auto process = proc_.stat(pid, pid);
    if (process && is_same(selection, i, *process)) chosen.whole.insert(pid);
  }
  return success();
}

Status TaskSelector::look_in_cgroup(const std::string& path, Chosen& chosen) const {
  const auto trees = CgroupTrees::mounted(proc_root_);
  if (!trees) return trees.error();
  for (const std::uint32_t thread : trees.value().threads(path, proc_)) {
    if (chosen.threads.contains(thread)) continue;
    if (const auto process = proc_.process_of(thread)) chosen.threads.emplace(thread, *process);
  }
  return success();
}

Status TaskSelector::look_for_comm(const std::string& comm, Chosen& chosen) const {
  const auto processes = proc_.processes();
  if (!processes) return processes.error();
  for (const std::uint32_t process : processes.value()) {
    for (const std::uint32_t thread : proc_.threads(process)) {
      const auto task = proc_.stat(process, thread);
      if (!task || comm_of(*task) != comm) continue;
      chosen.threads.emplace(thread, process);
      chosen.parents.insert(process);
    }
  }
  return success();
}

// The first thread of a process may end before the others: it is a zombie until the last of them is done.
// A thread that execs takes its leader's pid: who has gone since the list was made may be the leader now.
bool TaskSelector::lives(std::uint32_t process) const {
  return std::ranges::any_of(proc_.threads(process), [&](std::uint32_t thread) {
    const auto task = proc_.stat(process, thread);
    return !task || !task->ended();
  });
}

bool TaskSelector::ended(const Selection& selection) const {
  if (selection.by != SelectBy::pids) return false;
  for (std::size_t i = 0; i < selection.pids.size(); ++i) {
    const auto process = proc_.process_of(selection.pids[i]);
    const auto stat = process ? proc_.stat(*process, *process) : std::nullopt;
    if (stat && is_same(selection, i, *stat) && lives(*process)) return false;
  }
  return true;
}

}  // namespace noised::system
