// SPDX-License-Identifier: Apache-2.0
// The cgroup hierarchies that are mounted: version 2, version 1 with one for each controller, or both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

#include "system/proc_tasks.h"

namespace noised::system {

/// One mount of one hierarchy.
struct CgroupTree {
  std::string device;  ///< "0:29": mounts with the same one show the same hierarchy
  std::string root;    ///< the cgroup that is mounted: "/", or a deeper one, as containers have it
  std::string mount;   ///< where
};

/// The cgroup mounts in the text of a file /proc/PID/mountinfo.
std::vector<CgroupTree> parse_cgroup_trees(std::string_view mountinfo);

/// All hierarchies, as one: a path means the cgroup of that name in each of them.
class CgroupTrees {
 public:
  explicit CgroupTrees(std::vector<CgroupTree> trees) : trees_(std::move(trees)) {}
  /// Those of this process; fails where none is mounted.
  static Result<CgroupTrees> mounted(const std::string& proc);

  /// The path of a cgroup within its hierarchy, which is what /proc/PID/cgroup and the tracepoint cgroup_attach_task
  /// tell, from that path or from one in the file system (clean_path() of either). Fails if no hierarchy has it.
  [[nodiscard]] Result<std::string> find(const std::string& path) const;
  /// The threads that are in this cgroup, or in one below it, in any hierarchy; a thread of several is there more than
  /// once. None if there is no such cgroup.
  [[nodiscard]] std::vector<std::uint32_t> threads(const std::string& path, const ProcTasks& proc) const;

 private:
  [[nodiscard]] std::optional<std::string> without_mount(const std::string& path) const;
  [[nodiscard]] std::vector<std::string> directories(const std::string& path) const;

  std::vector<CgroupTree> trees_;
};

}  // namespace noised::system
