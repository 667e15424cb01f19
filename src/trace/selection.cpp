// SPDX-License-Identifier: Apache-2.0
// What can be said about a selection without a look at the machine.
#include "trace/selection.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/quote.h"

namespace noised {
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

}  // namespace noised
