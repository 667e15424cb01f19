// SPDX-License-Identifier: Apache-2.0
// /proc/PID/mountinfo of any bytes: cgroup mounts with absolute paths that lead nowhere above them.
#include "fuzz.h"
#include "system/cgroup_trees.h"
#include "system/task_selection.h"

using noised::fuzz::check;

extern "C" int fuzz_mountinfo(const std::uint8_t* data, std::size_t size) {
  for (const noised::system::CgroupTree& tree : noised::system::parse_cgroup_trees(noised::fuzz::text(data, size))) {
    check(noised::system::clean_path(tree.root) == tree.root, "a root is a clean path", tree.root);
    check(noised::system::clean_path(tree.mount) == tree.mount, "a mount is a clean path", tree.mount);
    check(noised::system::is_within(tree.mount, "/"), "a mount is below the root", tree.mount);
  }
  return 0;
}
