// SPDX-License-Identifier: Apache-2.0
// cgroupfs and /proc.
#include "system/services.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "base/text.h"

namespace noised::system {
namespace {

constexpr std::uint64_t kWalkIntervalNs = 1'000'000'000;
// A pid may come to mean another task: the kernel does not hand one out again within a second of ordinary life.
constexpr std::uint64_t kProcessAgeNs = 1'000'000'000;
constexpr std::size_t kCgroups = 65536;
constexpr std::size_t kProcesses = 4096;
constexpr std::uint64_t kIsKernelThread = 0x200000;  // PF_KTHREAD

}  // namespace

std::optional<std::string> parse_cgroup(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with("0::/")) return std::string(line.substr(3));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return std::nullopt;
}

std::string most_specific_cgroup(std::string_view text, std::string_view own) {
  const std::string unified = parse_cgroup(text).value_or("/");
  const auto depth = [](std::string_view path) { return path == "/" ? 0 : std::ranges::count(path, '/'); };
  const auto is_own = [own](std::string_view line) {
    std::string_view rest = own;
    while (!rest.empty()) {
      if (take_line(rest) == line) return true;
    }
    return false;
  };
  std::string_view deepest = unified;
  for (std::string_view line = take_line(text); !line.empty() || !text.empty(); line = take_line(text)) {
    const std::size_t at = line.find(":/");
    if (at == std::string_view::npos || line.starts_with("0:") || (unified != "/" && is_own(line))) continue;
    if (depth(line.substr(at + 1)) > depth(deepest)) deepest = line.substr(at + 1);
  }
  return deepest == "/" ? std::string() : std::string(deepest);
}

namespace {

bool has_digit(std::string_view text) { return text.find_first_of("0123456789") != std::string_view::npos; }

// Of instances, scopes and what is numbered, what comes first says what they are; of the rest there is no end, and it
// may say who it was.
std::string without_number(std::string_view unit) {
  const std::size_t dot = unit.rfind('.');
  const std::string_view suffix = dot == std::string_view::npos ? std::string_view() : unit.substr(dot);
  std::string_view name = unit.substr(0, dot);
  const std::size_t instance = name.find('@');
  if (instance != std::string_view::npos) return fmt::format("{}@*{}", name.substr(0, instance), suffix);
  const std::size_t first = name.find_first_of("-_");
  if (suffix == ".scope" && first != std::string_view::npos)
    return fmt::format("{}*{}", name.substr(0, first + 1), suffix);
  std::string folded;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find_first_of("-_"), name.size());
    const std::string_view part = name.substr(0, end);
    folded += !folded.empty() && has_digit(part) ? "*" : std::string(part);
    if (end < name.size()) folded += name[end];
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return folded + std::string(suffix);
}

}  // namespace

// Below a service, or a container's scope, others choose the names; so does a user for his own services.
std::string service_of_path(std::string_view path) {
  std::string_view first;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part.empty() || part == "..") continue;
    if (part.ends_with(".service")) return without_number(part);
    if (part.ends_with(".scope")) return without_number(first.empty() || first == "system.slice" ? part : first);
    if (first == "user.slice") return std::string(part);
    if (first.empty()) first = part;
    if (!first.ends_with(".slice")) break;
  }
  return without_number(first);
}

std::string cgroup2_mount() {
  for (const char* path : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"}) {
    struct statfs about{};
    if (::statfs(path, &about) == 0 && about.f_type == CGROUP2_SUPER_MAGIC) return path;
  }
  return {};
}

namespace {

// All of it, and without an exception: a process that ends between opening and reading fails the reading (ESRCH).
std::string text_of(const std::string& proc, const std::string& process, const char* name) {
  std::ifstream file(std::filesystem::path(proc) / process / name);
  std::string text;
  std::getline(file, text, '\0');
  return text;
}

std::string cgroups_of(const std::string& proc, const std::string& process) { return text_of(proc, process, "cgroup"); }

// Of a task, from its stat: the seventh field after its name, which is in parentheses and may hold anything.
std::optional<std::uint64_t> task_flags(const std::string& stat) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string skipped;
  for (int field = 0; field < 6; ++field) fields >> skipped;
  std::uint64_t flags = 0;
  if (!(fields >> flags)) return std::nullopt;
  return flags;
}

}  // namespace

Services::Services(std::string cgroups, std::string proc) : root_(std::move(cgroups)), proc_(std::move(proc)) {
  own_ = cgroups_of(proc_, "self");
  has_version_1_ = !own_.empty() && (!own_.starts_with("0::") || own_.find('\n') + 1 < own_.size());
}

// Of version 1 no id is known, so the file of a process says where it is: a task that has ended has no name. That it is
// the same task is proven as far as version 2 can.
std::string_view Services::of_cgroup(std::uint64_t id, std::uint32_t pid, std::uint64_t now_ns) {
  if (cgroups_.contains(id) && !has_version_1_) return cgroups_.find(id)->second;
  const Process& process = look(pid, now_ns);
  const std::string_view name = name_of(id, process.path, now_ns);
  return has_version_1_ && process.path == name && !process.job.empty() ? std::string_view(process.job) : name;
}

// A cgroup that is newer than the last walk is where its process says that it is, if its id proves that: a service that
// began within a second of another one has its name at once.
std::string_view Services::name_of(std::uint64_t id, std::string_view path, std::uint64_t now_ns) {
  if (!cgroups_.contains(id)) learn(id, path);
  if (const auto found = cgroups_.find(id); found != cgroups_.end()) return found->second;
  if (walked_ns_ != 0 && now_ns - walked_ns_ < kWalkIntervalNs) return {};
  walked_ns_ = now_ns;
  walk();
  const auto found = cgroups_.find(id);
  return found == cgroups_.end() ? std::string_view() : std::string_view(found->second);
}

void Services::learn(std::uint64_t id, std::string_view path) {
  struct stat about{};
  if (path.empty() || root_.empty() || ::stat((root_ + std::string(path)).c_str(), &about) != 0) return;
  if (about.st_ino == id) cgroups_.try_emplace(id, path);
}

// Cgroups that are gone stay known: an id is not used again.
void Services::walk() {
  namespace fs = std::filesystem;
  if (cgroups_.size() >= kCgroups) cgroups_.clear();
  struct stat about{};
  if (root_.empty() || ::stat(root_.c_str(), &about) != 0) return;
  cgroups_.try_emplace(about.st_ino, "");
  std::error_code error;
  for (fs::recursive_directory_iterator each(root_, error), end; !error && each != end; each.increment(error)) {
    if (!each->is_directory(error) || ::stat(each->path().c_str(), &about) != 0) continue;
    cgroups_.try_emplace(about.st_ino, "/" + each->path().lexically_relative(root_).string());
  }
}

Services::Process& Services::process_of(std::uint32_t pid) {
  if (processes_.size() >= kProcesses) processes_.clear();
  return processes_[pid];
}

const Services::Process& Services::look(std::uint32_t pid, std::uint64_t now_ns) {
  Process& process = process_of(pid);
  if (process.read_ns != 0 && now_ns - process.read_ns < kProcessAgeNs) return process;
  const std::string text = cgroups_of(proc_, std::to_string(pid));
  process.read_ns = now_ns;
  process.is_there = !text.empty();
  process.path = parse_cgroup(text).value_or("");
  if (process.path == "/") process.path.clear();
  process.job = most_specific_cgroup(text, own_);
  return process;
}

std::optional<bool> Services::is_kernel_thread(std::uint32_t pid, std::uint64_t now_ns) {
  Process& process = process_of(pid);
  // That it is one is asked again: the pid may be another task's by now, whose name would be told.
  const bool is_known = process.kind_read_ns != 0 && now_ns - process.kind_read_ns < kProcessAgeNs;
  if (is_known && !process.is_kernel_thread.value_or(false)) return process.is_kernel_thread;
  const bool has_ended = !process.is_there && process.read_ns != 0 && now_ns - process.read_ns < kProcessAgeNs;
  if (has_ended) return std::nullopt;
  process.kind_read_ns = now_ns;
  const auto flags = task_flags(text_of(proc_, std::to_string(pid), "stat"));
  process.is_kernel_thread = flags ? std::optional((*flags & kIsKernelThread) != 0) : std::nullopt;
  return process.is_kernel_thread;
}

std::string_view Services::of_process(std::uint32_t pid, std::uint64_t now_ns) { return look(pid, now_ns).job; }

}  // namespace noised::system
