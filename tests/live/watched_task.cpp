// SPDX-License-Identifier: Apache-2.0
// Two pipes: one with orders, one with answers.
#include "watched_task.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

#include "base/cpus.h"
#include "base/files.h"
#include "command.h"

namespace noised::live {
namespace {

std::uint64_t cpu_time_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

void do_work(const TaskWork& work) {
  for (const std::uint64_t end_ns = cpu_time_ns() + work.busy_ns; cpu_time_ns() < end_ns;) {
  }
  const timespec nap{0, 1'000'000};
  for (unsigned at = 0; at < work.naps; ++at) nanosleep(&nap, nullptr);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (work.pages == 0) return;
  void* const memory = mmap(nullptr, work.pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(memory, work.pages * page, MADV_NOHUGEPAGE);
  for (unsigned at = 0; at < work.pages; ++at) static_cast<volatile char*>(memory)[at * page] = 1;
  munmap(memory, work.pages * page);
}

[[noreturn]] void obey(int orders, int answers) {
  TaskWork work;
  while (read(orders, &work, sizeof(work)) == static_cast<ssize_t>(sizeof(work))) {
    do_work(work);
    if (write(answers, "", 1) != 1) break;
  }
  _exit(0);
}

std::string text_of(pid_t pid, const char* file) {
  return read_file("/proc/" + std::to_string(pid) + "/" + file).value();
}

// What follows the name of the task in its stat file, which may hold anything: the third field is the first.
std::istringstream stat_of(pid_t pid) {
  const std::string text = text_of(pid, "stat");
  return std::istringstream(text.substr(text.rfind(')') + 1));
}

std::uint64_t status_field(const std::string& status, const std::string& name) {
  return std::stoull(status.substr(status.find("\n" + name + ":") + name.size() + 2));
}

}  // namespace

KernelCounts counts_of(pid_t pid) {
  KernelCounts counts;
  const std::string status = text_of(pid, "status");
  counts.voluntary = status_field(status, "voluntary_ctxt_switches");
  counts.involuntary = status_field(status, "nonvoluntary_ctxt_switches");
  std::istringstream(text_of(pid, "schedstat")) >> counts.run_ns >> counts.wait_ns >> counts.runs;
  std::istringstream stat = stat_of(pid);
  std::string skipped;
  for (int field = 3; field < 10; ++field) stat >> skipped;
  stat >> counts.minor_faults;
  return counts;
}

WatchedTask::WatchedTask(unsigned cpu) {
  int orders[2];
  int answers[2];
  REQUIRE(pipe2(orders, O_CLOEXEC) == 0);
  REQUIRE(pipe2(answers, O_CLOEXEC) == 0);
  pid_ = fork();
  REQUIRE(pid_ >= 0);
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const CpuSet there({cpu});
    sched_setaffinity(0, there.bytes(), there.get());
    close(orders[1]);
    obey(orders[0], answers[1]);
  }
  close(orders[0]);
  close(answers[1]);
  orders_ = Descriptor(orders[1]);
  answers_ = Descriptor(answers[0]);
  work({});
}

WatchedTask::~WatchedTask() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void WatchedTask::wait_for_state(const char* wanted) const {
  REQUIRE(eventually([&] {
    std::string state;
    stat_of(pid_) >> state;
    return state == wanted;
  }));
}

void WatchedTask::work(const TaskWork& work) {
  REQUIRE(write(orders_.get(), &work, sizeof(work)) == static_cast<ssize_t>(sizeof(work)));
  char answer = 0;
  REQUIRE(read(answers_.get(), &answer, 1) == 1);
  wait_for_state("S");
}

}  // namespace noised::live
