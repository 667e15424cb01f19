// SPDX-License-Identifier: Apache-2.0
// Which service a task belongs to: the path of its cgroup, which systemd and Slurm name after services and jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace noised::system {

/// The cgroup path in the text of /proc/PID/cgroup ("0::/system.slice/cron.service"); nothing where there is no
/// version 2 hierarchy.
std::optional<std::string> parse_cgroup(std::string_view text);

/// The most specific path there of all hierarchies: on version 1, or on both side by side, a job that Slurm or a
/// runtime of containers made is in those of controllers, and its service only in systemd's. Where version 2 has a
/// path, a line of version 1 that the daemon has too (`own`, the text of its own file) says nothing about the task. Of
/// equals that of version 2, then the first; empty if all are root cgroups.
std::string most_specific_cgroup(std::string_view text, std::string_view own);

/// The name of the service there, for those who may not know more: "cron.service", "user-1000.slice", "kubepods.slice".
/// What numbers it among its like is a star ("sshd@*.service", "ci-*.service", "docker-*.scope"), and what lies below
/// is left out, so that a machine has no more of them than kinds of services and users. Empty for the root cgroup.
std::string service_of_path(std::string_view path);

/// Where systemd mounts the version 2 hierarchy: alone, or beside version 1; empty if it is not mounted.
std::string cgroup2_mount();

/// Paths by cgroup id, and by pid for tasks of which no waker told the id. Answers are remembered; a new one costs a
/// walk over cgroupfs (once a second at most) or the reading of a file of /proc, in the daemon.
class Services {
 public:
  /// Where cgroups of version 2 are mounted and where /proc is; tests have their own.
  explicit Services(std::string cgroups = cgroup2_mount(), std::string proc = "/proc");

  /// The path of the cgroup, as of `now_ns`, in which process `pid` was; empty if it is the root cgroup, or gone before
  /// it was looked at.
  std::string_view of_cgroup(std::uint64_t id, std::uint32_t pid, std::uint64_t now_ns);
  /// The path of the cgroup of a live process; empty as above.
  std::string_view of_process(std::uint32_t pid, std::uint64_t now_ns);
  /// True if this is a kernel thread, false if it is not; nothing where it cannot be known: it has ended, or is hidden.
  std::optional<bool> is_kernel_thread(std::uint32_t pid, std::uint64_t now_ns);

 private:
  struct Process {
    std::uint64_t read_ns = 0;
    std::string path;       // version 2
    std::string job;        // of all hierarchies
    bool is_there = false;  // as of read_ns
    std::uint64_t kind_read_ns = 0;
    std::optional<bool> is_kernel_thread;
  };
  Process& process_of(std::uint32_t pid);
  const Process& look(std::uint32_t pid, std::uint64_t now_ns);
  std::string_view name_of(std::uint64_t id, std::string_view path, std::uint64_t now_ns);
  void walk();
  void learn(std::uint64_t id, std::string_view path);

  std::string root_;
  std::string proc_;
  std::string own_;  // the daemon's own file
  bool has_version_1_;
  std::uint64_t walked_ns_ = 0;
  std::unordered_map<std::uint64_t, std::string> cgroups_;  // by inode, which is the id
  std::unordered_map<std::uint32_t, Process> processes_;
};

}  // namespace noised::system
