// SPDX-License-Identifier: Apache-2.0
// Moving tasks by their affinity.
#include "quiet_cpu.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

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

std::vector<pid_t> move_all_off(unsigned cpu) {
  std::vector<pid_t> moved;
  std::error_code error;
  for (const auto& process : fs::directory_iterator("/proc", error)) {
    const std::string name = process.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos || !is_user_process(process.path())) continue;
    if (std::stoi(name) == getppid()) continue;
    for (const auto& task : fs::directory_iterator(process.path() / "task", error)) {
      const pid_t tid = std::stoi(task.path().filename());
      if (change(tid, cpu, false)) moved.push_back(tid);
    }
  }
  return moved;
}

// Until the test says so, or has ended. A test that was killed in the middle left every task of the machine, the first
// included, without the CPU, and whatever was started later: builds took twice as long, and other tests failed.
[[noreturn]] void guard(unsigned cpu, pid_t test, int begun) {
  setsid();
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGUSR1);
  if (getppid() != test) _exit(1);
  const std::vector<pid_t> moved = move_all_off(cpu);
  if (write(begun, "", 1) == 1) {
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGUSR1);
    while (sigwaitinfo(&end, nullptr) != SIGUSR1) {
    }
  }
  for (const pid_t task : moved) change(task, cpu, true);
  _exit(0);
}

}  // namespace

QuietCpu::QuietCpu(unsigned cpu) {
  std::array<int, 2> ends{};
  REQUIRE(pipe2(ends.data(), O_CLOEXEC) == 0);
  const pid_t test = getpid();
  guard_ = fork();
  if (guard_ == 0) guard(cpu, test, ends[1]);
  close(ends[1]);
  char byte = 0;
  const bool begun = guard_ > 0 && read(ends[0], &byte, 1) == 1;
  close(ends[0]);
  REQUIRE(begun);
}

QuietCpu::~QuietCpu() {
  kill(guard_, SIGUSR1);
  waitpid(guard_, nullptr, 0);
}

}  // namespace noised::live
