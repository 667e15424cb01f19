// SPDX-License-Identifier: Apache-2.0
// By files that need no privilege: the links in /proc/PID/ns of another process need one that the daemon has given up.
#include "system/namespaces.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "base/files.h"

namespace noised::system {
namespace {

// PROC_PID_INIT_INO of the kernel's, the same since 3.8.
constexpr std::string_view kInitialPids = "pid:[4026531836]";

// A kernel that lacks a namespace has no such file, and its one clock.
bool has_own_clock(const std::string& process) {
  const auto offsets = read_file(process + "/timens_offsets");
  if (!offsets) return false;
  std::istringstream text(offsets.value());
  std::string clock;
  long long seconds = 0;
  long long ns = 0;
  while (text >> clock >> seconds >> ns) {
    if (clock == "monotonic") return seconds != 0 || ns != 0;
  }
  return false;
}

// From a process in the initial namespace, every other one is a descendant: its processes have a pid in each on the
// way.
bool has_own_pids(const std::string& process) {
  constexpr std::string_view kPids = "\nNSpid:";
  const auto status = read_file(process + "/status");
  if (!status) return false;
  const std::string& text = status.value();
  const std::size_t begin = text.find(kPids);
  if (begin == std::string::npos) return false;
  const std::size_t end = std::min(text.find('\n', begin + 1), text.size());
  std::istringstream pids(text.substr(begin + kPids.size(), end - begin - kPids.size()));
  std::string pid;
  int count = 0;
  while (pids >> pid) ++count;
  return count > 1;
}

}  // namespace

Status check_namespaces(const std::string& proc) {
  std::array<char, 64> link{};
  const ssize_t length = ::readlink((proc + "/self/ns/pid").c_str(), link.data(), link.size());
  if (length > 0 && std::string_view(link.data(), static_cast<std::size_t>(length)) != kInitialPids) {
    return failure("this PID namespace is not the kernel's first: pids here mean other tasks to the kernel's programs",
                   "run noised outside of it, or in a container that has the host's pids (--pid=host)");
  }
  if (has_own_clock(proc + "/self")) {
    return failure(
        "this time namespace shifts CLOCK_MONOTONIC (/proc/self/timens_offsets): the kernel's programs read it "
        "as it is",
        "run noised outside of it");
  }
  return success();
}

Status check_client(pid_t client, bool by_pid, const std::string& proc) {
  const std::string process = proc + "/" + std::to_string(client);
  if (by_pid && has_own_pids(process)) {
    return failure("pids of another PID namespace than noised's mean other tasks here",
                   "run noisectl where noised runs, or choose the tasks by --comm or --cgroup");
  }
  if (has_own_clock(process)) {
    return failure("CLOCK_MONOTONIC of another time namespace than noised's is another clock",
                   "run noisectl where noised runs");
  }
  return success();
}

bool proc_hides_tasks(const std::string& proc) { return ::access((proc + "/1/stat").c_str(), R_OK) != 0; }

}  // namespace noised::system
