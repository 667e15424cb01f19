// SPDX-License-Identifier: Apache-2.0
// mount(2): of version 1 a named hierarchy without controllers, of version 2 the one that there is.
#include "test_cgroups.h"

#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "command.h"

namespace noised::live {

namespace {

std::string own_hierarchy() { return "name=noised-test-" + std::to_string(getpid()); }

bool has_own_hierarchy() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.find(":" + own_hierarchy() + ":") != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TestCgroups::TestCgroups(bool version_1, bool version_2) {
  if (version_1) mount_version("cgroup", "none," + own_hierarchy(), "v1");
  if (version_2) mount_version("cgroup2", "", "v2");
}

void TestCgroups::mount_version(const char* type, const std::string& options, const std::string& name) {
  const std::string where = directory_.path(name);
  std::filesystem::create_directory(where);
  if (::mount("none", where.c_str(), type, 0, options.c_str()) != 0) {
    SKIP("mounting " + std::string(type) + ": " + std::strerror(errno));
  }
  mounts_.push_back(where);
}

// A cgroup is gone a moment after its last task is.
TestCgroups::~TestCgroups() {
  std::reverse(made_.begin(), made_.end());
  for (const std::string& cgroup : made_)
    eventually([&] { return rmdir(cgroup.c_str()) == 0 || errno == ENOENT; }, std::chrono::seconds(5));
  for (const std::string& mount : mounts_) ::umount2(mount.c_str(), MNT_DETACH);
  // A hierarchy goes with its last mount only if its cgroups are gone, and the kernel frees them a moment after they
  // were removed: two stayed for good in each run of these tests.
  const std::string again = directory_.path("again");
  std::filesystem::create_directory(again);
  eventually(
      [&] {
        if (!has_own_hierarchy()) return true;
        if (::mount("none", again.c_str(), "cgroup", 0, ("none," + own_hierarchy()).c_str()) == 0)
          ::umount2(again.c_str(), 0);
        return !has_own_hierarchy();
      },
      std::chrono::seconds(5));
}

void TestCgroups::make(const std::string& path) {
  for (const std::string& mount : mounts_) {
    for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
      const std::string cgroup = mount + path.substr(0, slash);
      std::error_code error;
      if (std::filesystem::create_directory(cgroup, error)) made_.push_back(cgroup);
      REQUIRE_FALSE(error);
      if (slash == std::string::npos) break;
    }
  }
}

void TestCgroups::join(const std::string& path, pid_t pid) const {
  for (const std::string& mount : mounts_) {
    std::ofstream file(mount + path + "/cgroup.procs");
    file << pid << std::flush;
    REQUIRE(file.good());
  }
}

}  // namespace noised::live
