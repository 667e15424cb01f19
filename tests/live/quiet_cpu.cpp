// SPDX-License-Identifier: Apache-2.0
// Moving tasks by their affinity.
#include "quiet_cpu.h"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace noised::live {
namespace {

namespace fs = std::filesystem;

// Kernel threads have no executable; most may not be moved, and those that run on the CPU belong to it.
bool is_user_process(const fs::path& process) {
  std::error_code error;
  const fs::path executable = fs::read_symlink(process / "exe", error);
  return !executable.empty() || error == std::errc::permission_denied;
}

bool change(pid_t task, unsigned cpu, bool allow) {
  cpu_set_t set;
  if (sched_getaffinity(task, sizeof(set), &set) != 0 || (CPU_ISSET(cpu, &set) != 0) == allow) return false;
  if (allow) {
    CPU_SET(cpu, &set);
  } else {
    CPU_CLR(cpu, &set);
  }
  return CPU_COUNT(&set) != 0 && sched_setaffinity(task, sizeof(set), &set) == 0;
}

}  // namespace

QuietCpu::QuietCpu(unsigned cpu) : cpu_(cpu) {
  std::error_code error;
  for (const auto& process : fs::directory_iterator("/proc", error)) {
    const std::string name = process.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos || !is_user_process(process.path())) continue;
    if (std::stoi(name) == getpid()) continue;
    for (const auto& task : fs::directory_iterator(process.path() / "task", error)) {
      const pid_t tid = std::stoi(task.path().filename());
      if (change(tid, cpu, false)) moved_.push_back(tid);
    }
  }
}

QuietCpu::~QuietCpu() {
  for (const pid_t task : moved_) change(task, cpu_, true);
}

}  // namespace noised::live
