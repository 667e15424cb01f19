// SPDX-License-Identifier: Apache-2.0
// /proc/self/mountinfo, and the files of cgroupfs that list tasks. A cgroup that is removed meanwhile is left out.
#include "system/cgroup_trees.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "system/task_selection.h"

namespace noised::system {
namespace {

namespace fs = std::filesystem;

// Four million tasks, which is more than a kernel can have, of 8 bytes each.
constexpr std::size_t kLargestList = std::size_t{32} << 20U;

bool is_octal(char c) { return c >= '0' && c <= '7'; }

// mountinfo has spaces, line ends and backslashes as \ooo.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view code = text.substr(i, 4);
    if (code.size() == 4 && code[0] == '\\' && std::ranges::all_of(code.substr(1), is_octal)) {
      out += static_cast<char>((code[1] - '0') * 64 + (code[2] - '0') * 8 + (code[3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string_view take_until(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

// "31 23 0:28 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory"
std::optional<CgroupTree> parse_mount(std::string_view line) {
  const std::size_t dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  std::string_view about = line.substr(dash + 3);
  const std::string_view type = take_until(about, ' ');
  if (type != "cgroup" && type != "cgroup2") return std::nullopt;
  std::array<std::string_view, 5> fields;
  for (std::string_view& field : fields) field = take_until(line, ' ');
  // A root above that of this cgroup namespace ("/..") has no path that could be told.
  auto root = clean_path(unescape(fields[3]));
  auto mount = clean_path(unescape(fields[4]));
  if (!root || !mount) return std::nullopt;
  return CgroupTree{std::string(fields[2]), std::move(*root), std::move(*mount)};
}

// What stands below a directory: "/c" of "/a/b/c" and "/a/b"; empty for the directory itself.
std::string below(const std::string& path, const std::string& above) {
  if (above == "/") return path == "/" ? "" : path;
  return path.substr(above.size());
}

std::vector<std::string> directories_in(const std::string& path) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator each(path, error), end; !error && each != end; each.increment(error)) {
    std::error_code gone;
    if (fs::is_directory(each->symlink_status(gone))) found.push_back(each->path().string());
  }
  return found;
}

// The threads of one cgroup alone.
void add_threads(const std::string& directory, const ProcTasks& proc, std::vector<std::uint32_t>& threads) {
  // Version 2 since Linux 4.14, and version 1.
  for (const char* file : {"/cgroup.threads", "/tasks"}) {
    if (const auto text = read_file(directory + file, kLargestList)) {
      const auto found = parse_pids(text.value());
      threads.insert(threads.end(), found.begin(), found.end());
      return;
    }
  }
  const auto processes = read_file(directory + "/cgroup.procs", kLargestList);
  if (!processes) return;
  for (const std::uint32_t process : parse_pids(processes.value())) {
    const auto found = proc.threads(process);
    threads.insert(threads.end(), found.begin(), found.end());
  }
}

}  // namespace

std::vector<CgroupTree> parse_cgroup_trees(std::string_view mountinfo) {
  std::vector<CgroupTree> trees;
  while (!mountinfo.empty()) {
    if (auto tree = parse_mount(take_until(mountinfo, '\n'))) trees.push_back(std::move(*tree));
  }
  return trees;
}

Result<CgroupTrees> CgroupTrees::mounted(const std::string& proc) {
  const auto text = read_file(proc + "/self/mountinfo", kLargestList);
  if (!text) return text.error();
  auto trees = parse_cgroup_trees(text.value());
  if (trees.empty())
    return failure(proc + "/self/mountinfo: no cgroup hierarchy is mounted",
                   "mount one: mount -t cgroup2 cgroup2 /sys/fs/cgroup");
  return CgroupTrees(std::move(trees));
}

// The path within its hierarchy of a path in the file system.
std::optional<std::string> CgroupTrees::without_mount(const std::string& path) const {
  const CgroupTree* deepest = nullptr;
  for (const CgroupTree& tree : trees_) {
    // Of two on the same place, the later one hides the other.
    if (is_within(path, tree.mount) && (deepest == nullptr || tree.mount.size() >= deepest->mount.size()))
      deepest = &tree;
  }
  if (deepest == nullptr) return std::nullopt;
  return clean_path(deepest->root + below(path, deepest->mount));
}

// Where a cgroup is, in each hierarchy that has it.
std::vector<std::string> CgroupTrees::directories(const std::string& path) const {
  std::vector<std::string> found;
  std::set<std::string_view> seen;  // a hierarchy may be mounted more than once
  for (const CgroupTree& tree : trees_) {
    if (!is_within(path, tree.root) || seen.contains(tree.device)) continue;
    const std::string directory = tree.mount + below(path, tree.root);
    std::error_code error;
    if (!fs::is_directory(directory, error)) continue;
    seen.insert(tree.device);
    found.push_back(directory);
  }
  return found;
}

Result<std::string> CgroupTrees::find(const std::string& path) const {
  if (const std::string within = without_mount(path).value_or(path); !directories(within).empty()) return within;
  // Version 1 has links beside its mounts: "cpu" to "cpu,cpuacct".
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (!error) {
    const auto within = without_mount(real.string());
    if (within && !directories(*within).empty()) return *within;
  }
  std::string mounts;
  for (const CgroupTree& tree : trees_) mounts += (mounts.empty() ? "" : ", ") + tree.mount;
  return failure(
      fmt::format("cgroup {}: in no hierarchy ({})", in_quotes(path), on_one_line(mounts)),
      "systemd-cgls and /proc/PID/cgroup show those that there are, and scontrol listpids the PIDs of a job");
}

std::vector<std::uint32_t> CgroupTrees::threads(const std::string& path, const ProcTasks& proc) const {
  std::vector<std::uint32_t> threads;
  std::vector<std::string> todo = directories(path);
  while (!todo.empty()) {
    const std::string directory = std::move(todo.back());
    todo.pop_back();
    add_threads(directory, proc, threads);
    std::ranges::move(directories_in(directory), std::back_inserter(todo));
  }
  return threads;
}

}  // namespace noised::system
