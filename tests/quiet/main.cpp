// SPDX-License-Identifier: Apache-2.0
// Keeps user tasks off a CPU for as long as its standard input is open, whatever becomes of who started it.
//   quiet CPU [PID]     PID: a process that may stay. Prints a line when all others have left.
#include <poll.h>
#include <sched.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

bool is_number(const std::string& name) { return name.find_first_not_of("0123456789") == std::string::npos; }

// Kernel threads have no executable; most may not be moved, and those that run on the CPU belong to it. That of the
// first process is hidden on some virtual machines, even from root.
bool is_user_process(const fs::path& process) {
  std::error_code error;
  const fs::path executable = fs::read_symlink(process / "exe", error);
  return !executable.empty() || error == std::errc::permission_denied;
}

std::vector<pid_t> user_tasks(pid_t except) {
  std::vector<pid_t> tasks;
  std::error_code error;
  for (const auto& process : fs::directory_iterator("/proc", error)) {
    const std::string name = process.path().filename();
    if (!is_number(name) || std::atoi(name.c_str()) == except || !is_user_process(process.path())) continue;
    for (fs::directory_iterator task(process.path() / "task", error), end; !error && task != end; task.increment(error))
      tasks.push_back(std::atoi(task->path().filename().c_str()));
  }
  return tasks;
}

struct Affinity {
  cpu_set_t set{};

  static bool of(pid_t task, Affinity& affinity) {
    return sched_getaffinity(task, sizeof(affinity.set), &affinity.set) == 0;
  }
  friend bool operator==(const Affinity& a, const Affinity& b) { return CPU_EQUAL(&a.set, &b.set) != 0; }
};

// Where a process has run, its memory may be in a CPU's translations: when it frees some, it interrupts that CPU, and
// since Linux 6.13 once also long after it has left. The first process may do so unseen (tests/live/quiet_cpu.h): a
// flush by us, who are seen, takes it out. Clearing soft-dirty bits is what makes one.
void flush_translations_of_the_first_process() {
  std::FILE* const file = std::fopen("/proc/1/clear_refs", "we");
  if (file == nullptr) return;
  std::fputs("4", file);
  std::fclose(file);
}

class Quiet {
 public:
  Quiet(unsigned cpu, pid_t except) : cpu_(cpu), except_(except) {
    for (const pid_t task : user_tasks(except_)) {
      before_.insert(task);
      Affinity affinity;
      if (!Affinity::of(task, affinity) || !CPU_ISSET(cpu_, &affinity.set) || CPU_COUNT(&affinity.set) == 1) continue;
      CPU_CLR(cpu_, &affinity.set);
      if (sched_setaffinity(task, sizeof(affinity.set), &affinity.set) == 0) narrowed_[task] = affinity;
    }
    flush_translations_of_the_first_process();
  }

  // Also to tasks that those have started since. Another CPU may have been made quiet meanwhile.
  ~Quiet() {
    for (const pid_t task : user_tasks(except_)) {
      Affinity affinity;
      if (!Affinity::of(task, affinity) || CPU_ISSET(cpu_, &affinity.set) || !lost_it(task, affinity)) continue;
      CPU_SET(cpu_, &affinity.set);
      sched_setaffinity(task, sizeof(affinity.set), &affinity.set);
    }
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  bool lost_it(pid_t task, const Affinity& affinity) const {
    if (before_.contains(task)) return narrowed_.contains(task);
    return std::ranges::any_of(narrowed_, [&](const auto& one) { return one.second == affinity; });
  }

  unsigned cpu_;
  pid_t except_;
  std::set<pid_t> before_;
  std::map<pid_t, Affinity> narrowed_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3 || !is_number(argv[1]) || !is_number(argv[argc - 1])) {
    std::fputs("usage: quiet CPU [PID]\n", stderr);
    return 2;
  }
  // A signal to the terminal's group ends who started us, and thereby our input; we still have to clean up.
  sigset_t all, end;
  sigfillset(&all);
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  const int ended = signalfd(-1, &end, SFD_CLOEXEC);
  if (ended < 0) return 1;
  const Quiet quiet(static_cast<unsigned>(std::atoi(argv[1])), argc == 3 ? std::atoi(argv[2]) : 0);
  if (write(STDOUT_FILENO, "quiet\n", 6) != 6) return 1;
  std::array<pollfd, 2> ends{{{STDIN_FILENO, 0, 0}, {ended, POLLIN, 0}}};
  while (poll(ends.data(), ends.size(), -1) < 0 && errno == EINTR) {
  }
}
