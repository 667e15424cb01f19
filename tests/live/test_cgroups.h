// SPDX-License-Identifier: Apache-2.0
// cgroup hierarchies that a test mounts for itself, of version 1, 2, or both.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "unit/base/temporary_directory.h"

namespace noised::live {

class TestCgroups {
 public:
  /// Mounts; skips the test where the kernel does not let it.
  TestCgroups(bool version_1, bool version_2);
  /// Removes the cgroups that were made, and unmounts.
  ~TestCgroups();
  TestCgroups(const TestCgroups&) = delete;
  TestCgroups& operator=(const TestCgroups&) = delete;

  /// Makes a cgroup ("/a/b") with those above it, in each hierarchy.
  void make(const std::string& path);
  /// Moves a process there, in each hierarchy.
  void join(const std::string& path, pid_t pid) const;

 private:
  void mount_version(const char* type, const std::string& options, const std::string& name);

  test::TemporaryDirectory directory_;
  std::vector<std::string> mounts_;
  std::vector<std::string> made_;
};

}  // namespace noised::live
