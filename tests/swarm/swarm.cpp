// SPDX-License-Identifier: Apache-2.0
// Many tasks, for those who watch them.
// swarm short N         N children, one after the other, each 100 us long, with a thousand names: "PID NAME" lines
// swarm rename FIRST N  one task that has N names in turn, no two alike in letters, and computes 100 us under each
// swarm ranks N ROUNDS  N processes that compute 50 us and wait for each other, again and again
// swarm hop N A B       on CPU B, N children, one after the other, that hop from B to A and back, and end on one of
//                       them; prints the voluntary and involuntary switches and minor faults of all, as the kernel
//                       counted them
// swarm exec ROUNDS     a thread that is not the leader sleeps so often, execs, and sleeps as often again; prints its
//                       voluntary switches
// swarm yield CPU MS    the task "yielder" computes beside another that spins, and calls sched_yield again and again;
//                       prints how often that switched, how many ns it was away for it, and by the kernel's count its
//                       involuntary switches and how many ns it waited in all
// swarm bomb MS         every process makes others for so long, as fast as it is let; prints how many there were
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

void compute(std::uint64_t ns) {
  const std::uint64_t end_ns = now_ns() + ns;
  while (now_ns() < end_ns) {
  }
}

template <typename T>
T* shared() {
  void* const memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::exit(1);
  return new (memory) T();
}

void wait_for_all() {
  while (wait(nullptr) > 0) {
  }
}

std::string name_of(unsigned child) { return "short-" + std::to_string(child % 1000); }

int run_short(unsigned count) {
  std::vector<pid_t> pids;
  pids.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    const pid_t pid = fork();
    if (pid < 0) return 1;
    if (pid == 0) {
      prctl(PR_SET_NAME, name_of(i).c_str());
      compute(100'000);
      _exit(0);
    }
    pids.push_back(pid);
    waitpid(pid, nullptr, 0);
  }
  for (unsigned i = 0; i < count; ++i) std::printf("%d %s\n", pids[i], name_of(i).c_str());
  return 0;
}

// A name is told by the record of the switch that ends its run.
int run_rename(unsigned first, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    std::string name = "renamed-";
    unsigned left = first + i;
    for (int place = 0; place < 4; ++place, left /= 26) name += static_cast<char>('a' + left % 26);
    prctl(PR_SET_NAME, name.c_str());
    compute(100'000);
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  return 0;
}

int run_ranks(unsigned count, unsigned rounds) {
  auto* const barrier = shared<pthread_barrier_t>();
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  if (pthread_barrier_init(barrier, &attributes, count) != 0) return 1;
  for (unsigned rank = 0; rank < count; ++rank) {
    const pid_t pid = fork();
    if (pid < 0) return 1;
    if (pid != 0) continue;
    prctl(PR_SET_NAME, ("rank-" + std::to_string(rank)).c_str());
    for (unsigned round = 0; round < rounds; ++round) {
      compute(50'000);
      pthread_barrier_wait(barrier);
    }
    _exit(0);
  }
  wait_for_all();
  return 0;
}

void go_to(unsigned cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (sched_setaffinity(0, sizeof(one), &one) != 0) _exit(1);
}

int run_hop(unsigned count, unsigned first, unsigned second) {
  go_to(second);  // wherever it was started: what it does, and the birth of each child, is seen by who watches B
  for (unsigned i = 0; i < count; ++i) {
    const pid_t pid = fork();
    if (pid < 0) return 1;
    if (pid == 0) {
      std::vector<char> touched((1 + i % 8) << 14U, 'x');
      for (unsigned hop = 0; hop < 2 + i % 4; ++hop) {
        go_to(hop % 2 == 0 ? first : second);
        compute(20'000);
        if (hop % 3 == 0) usleep(50);
        touched.resize(touched.size() + (1U << 14U), 'x');
      }
      _exit(0);
    }
    waitpid(pid, nullptr, 0);
  }
  rusage children{};
  rusage self{};
  getrusage(RUSAGE_CHILDREN, &children);
  getrusage(RUSAGE_SELF, &self);
  std::printf("%ld %ld %ld\n", children.ru_nvcsw + self.ru_nvcsw, children.ru_nivcsw + self.ru_nivcsw,
              children.ru_minflt + self.ru_minflt);
  return 0;
}

long voluntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

// A sleep that is over before its thread has left the CPU is no switch: so it was for 3 of 400, emulated.
void sleep_often(unsigned rounds) {
  for (const long end = voluntary_switches() + static_cast<long>(rounds); voluntary_switches() < end;) usleep(300);
}

int run_exec(unsigned rounds) {
  std::thread([rounds] {
    sleep_often(rounds);
    const std::string again = std::to_string(rounds);
    execl("/proc/self/exe", "swarm", "executed", again.c_str(), nullptr);
    _exit(1);
  }).detach();
  for (;;) usleep(1'000);
}

int run_executed(unsigned rounds) {
  sleep_often(rounds);
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("voluntary")) std::printf("%s\n", line.substr(line.find(':') + 1).c_str());
  }
  return 0;
}

long involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

std::uint64_t waited_ns() {
  std::uint64_t ran = 0;
  std::uint64_t waited = 0;
  std::ifstream("/proc/self/schedstat") >> ran >> waited;
  return waited;
}

int run_yield(unsigned cpu, std::uint64_t ms) {
  const std::uint64_t end_ns = now_ns() + ms * 1'000'000;
  go_to(cpu);
  const std::uint64_t before_ns = waited_ns();
  const pid_t rival = fork();
  if (rival < 0) return 1;
  if (rival == 0) {
    prctl(PR_SET_NAME, "rival");
    compute(ms * 1'000'000);
    _exit(0);
  }
  prctl(PR_SET_NAME, "yielder");
  std::uint64_t yields = 0;
  std::uint64_t away_ns = 0;
  for (std::uint64_t round = 0; now_ns() < end_ns; ++round) {
    compute(round % 50 == 0 ? 8'000'000 : 50'000);
    const long before = involuntary_switches();
    const std::uint64_t left_ns = now_ns();
    sched_yield();
    const std::uint64_t back_ns = now_ns();
    if (involuntary_switches() == before) continue;
    ++yields;
    away_ns += back_ns - left_ns;
  }
  std::printf("%llu %llu %ld %llu\n", static_cast<unsigned long long>(yields), static_cast<unsigned long long>(away_ns),
              involuntary_switches(), static_cast<unsigned long long>(waited_ns() - before_ns));
  waitpid(rival, nullptr, 0);
  return 0;
}

int run_bomb(std::uint64_t ms) {
  auto* const made = shared<std::atomic<std::uint64_t>>();
  const std::uint64_t end_ns = now_ns() + ms * 1'000'000;
  const pid_t first = getpid();
  while (now_ns() < end_ns) {
    const pid_t pid = fork();
    if (pid == 0) ++*made;
    if (pid < 0) usleep(1'000);  // no more are let
  }
  wait_for_all();
  if (getpid() != first) _exit(0);
  std::printf("%llu\n", static_cast<unsigned long long>(made->load()));
  return 0;
}

unsigned number(const char* text) { return static_cast<unsigned>(std::strtoul(text, nullptr, 10)); }

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count > 1 ? arguments[1] : "";
  if (what == "short" && count == 3) return run_short(number(arguments[2]));
  if (what == "rename" && count == 4) return run_rename(number(arguments[2]), number(arguments[3]));
  if (what == "ranks" && count == 4) return run_ranks(number(arguments[2]), number(arguments[3]));
  if (what == "hop" && count == 5) return run_hop(number(arguments[2]), number(arguments[3]), number(arguments[4]));
  if (what == "exec" && count == 3) return run_exec(number(arguments[2]));
  if (what == "executed" && count == 3) return run_executed(number(arguments[2]));
  if (what == "yield" && count == 4) return run_yield(number(arguments[2]), number(arguments[3]));
  if (what == "bomb" && count == 3) return run_bomb(number(arguments[2]));
  std::fprintf(
      stderr,
      "usage: swarm short N | rename FIRST N | ranks N ROUNDS | hop N A B | exec ROUNDS | yield CPU MS | bomb MS\n");
  return 2;
}
