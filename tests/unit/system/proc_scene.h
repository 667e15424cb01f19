// SPDX-License-Identifier: Apache-2.0
// A /proc and cgroup hierarchies of a test's own.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "unit/base/temporary_directory.h"

namespace noised::test {

/// A process of the scene; its first thread has its pid.
struct SceneProcess {
  std::uint32_t pid = 0;
  std::uint32_t parent = 1;
  std::string name = "lmp";
  std::vector<std::uint32_t> other_threads = {};
  char state = 'S';
  std::uint64_t start = 4711;
};

/// The text of a file stat, as Linux 6.12 writes it.
inline std::string stat_text(std::uint32_t pid, const std::string& name, char state, std::uint32_t parent,
                             std::uint32_t flags = 0x400000, std::uint64_t start = 4711) {
  return fmt::format(
      "{} ({}) {} {} {} {} 34816 7 {} 1 2 3 4 5 6 7 8 20 0 1 0 {} 5730304 900 18446744073709551615 1 1 0 0 0 0 0 0 0 0 "
      "0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
      pid, name, state, parent, pid, pid, flags, start);
}

class ProcScene {
 public:
  ProcScene() { std::filesystem::create_directories(proc()); }

  [[nodiscard]] std::string proc() const { return directory_.path("proc"); }
  /// Everything is below it.
  [[nodiscard]] TemporaryDirectory& directory() { return directory_; }
  /// A path in the file system: "/sys/fs/cgroup/memory" is below the temporary directory.
  [[nodiscard]] std::string path(const std::string& absolute) const { return directory_.path(absolute.substr(1)); }

  void add(const SceneProcess& process) const {
    std::vector<std::uint32_t> threads = process.other_threads;
    threads.push_back(process.pid);
    write_stat(process.pid, process.pid, process);
    for (const std::uint32_t thread : threads) {
      write_stat(process.pid, thread, process);
      directory_.write(fmt::format("proc/{}/status", thread),
                       fmt::format("Name:\tx\\nTgid:\t9\nUmask:\t0022\nTgid:\t{}\nPid:\t{}\n", process.pid, thread));
    }
  }
  void rename_thread(const SceneProcess& process, std::uint32_t thread, const std::string& name) const {
    SceneProcess renamed = process;
    renamed.name = name;
    write_stat(process.pid, thread, renamed);
  }
  void remove(std::uint32_t pid) const { std::filesystem::remove_all(fmt::format("{}/{}", proc(), pid)); }

  /// Mounts hierarchies of version 1 by the names of their controllers, or of version 2 ("").
  void mount_cgroup1(std::initializer_list<const char*> controllers) {
    for (const char* name : controllers) add_mount(std::string("/sys/fs/cgroup/") + name, "cgroup", "/");
  }
  void mount_cgroup2(const std::string& where = "/sys/fs/cgroup") { add_mount(where, "cgroup2", "/"); }
  void add_mount(const std::string& where, const std::string& type, const std::string& root) {
    std::filesystem::create_directories(path(where));
    mounts_ += fmt::format("{} 23 0:{} {} {} rw,nosuid shared:9 - {} none rw\n", next_, next_, root, path(where), type);
    ++next_;
    directory_.write("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/root rw\n" + mounts_);
  }
  /// Writes a list of tasks, such as "/sys/fs/cgroup/memory/slurm/tasks".
  void list(const std::string& file, std::initializer_list<std::uint32_t> pids) const {
    directory_.write(file.substr(1), fmt::format("{}\n", fmt::join(pids, "\n")));
  }

 private:
  void write_stat(std::uint32_t pid, std::uint32_t thread, const SceneProcess& process) const {
    directory_.write(fmt::format("proc/{}/task/{}/stat", pid, thread),
                     stat_text(thread, process.name, process.state, process.parent, 0x400000, process.start));
  }

  TemporaryDirectory directory_;
  std::string mounts_;
  int next_ = 30;
};

}  // namespace noised::test
