// SPDX-License-Identifier: Apache-2.0
// /proc/PID/mountinfo of any bytes: cgroup mounts with absolute paths that lead nowhere above them.
#include "fuzz.h"
#include "trace/cgroup_trees.h"
#include "trace/selection.h"

using noised::fuzz::check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const noised::CgroupTree& tree : noised::parse_cgroup_trees(noised::fuzz::text(data, size))) {
    check(noised::clean_path(tree.root) == tree.root, "a root is a clean path", tree.root);
    check(noised::clean_path(tree.mount) == tree.mount, "a mount is a clean path", tree.mount);
    check(noised::is_within(tree.mount, "/"), "a mount is below the root", tree.mount);
  }
  return 0;
}
