// SPDX-License-Identifier: Apache-2.0
// Load on one CPU, until killed: a mixture of everything that interrupts, as many page faults as it can, or timers.
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "base/files.h"

using namespace noised;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

bool move_to(const cpu_set_t& cpus) { return sched_setaffinity(0, sizeof(cpus), &cpus) == 0; }

// A timer and two switches each time.
[[noreturn]] void arm_timers() {
  while (true) std::this_thread::sleep_for(1ms);
}

// Softirqs on the CPU that sends; and, by the timeout of the second recv, a timer of the timer wheel.
[[noreturn]] void talk_over_loopback() {
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM, 0));
  const timeval timeout{.tv_sec = 0, .tv_usec = 1000};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!socket || bind(socket.get(), generic, length) != 0 || getsockname(socket.get(), generic, &length) != 0)
    std::abort();
  std::array<char, 512> data{};
  while (true) {
    if (sendto(socket.get(), data.data(), data.size(), 0, generic, length) < 0) std::abort();
    while (recv(socket.get(), data.data(), data.size(), 0) > 0) {
    }
  }
}

// One thread on the CPU is woken from elsewhere (a reschedule or function call interrupt), and while it runs memory of
// the process is unmapped there (a TLB shootdown). The other side spins between two rounds rather than sleep: what it
// provokes on its own CPU is run time of the programs too, and cheap, since they end early there.
class Shootdowns {
 public:
  [[noreturn]] void wait_to_be_struck() {
    for (int last = 0;; last = round_.load()) {
      round_.wait(last);
      here_.store(true);
      const auto patience = Clock::now() + 300us;
      while (here_.load() && Clock::now() < patience) {
      }
      here_.store(false);
    }
  }

  [[noreturn]] void strike() {
    constexpr std::size_t kBytes = std::size_t{16} * 4096;
    for (auto next = Clock::now();; next += 2ms) {
      void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
      if (memory == MAP_FAILED) std::abort();
      while (Clock::now() < next) {
      }
      round_.fetch_add(1);
      round_.notify_one();
      const auto patience = Clock::now() + 1ms;
      while (!here_.load() && Clock::now() < patience) {
      }
      munmap(memory, kBytes);
      here_.store(false);
    }
  }

 private:
  std::atomic<int> round_{0};
  std::atomic<bool> here_{false};
};

// Has the kernel time BPF programs for as long as this exists: unlike the sysctl, it cannot be left on by a crash. What
// it charges to a program that does nothing, and to one that only reads the clock, is shown by two that are attached
// beside noised's, after them.
class ProgramTiming {
 public:
  ProgramTiming() : timing_(bpf_enable_stats(BPF_STATS_RUN_TIME)) {
    constexpr bpf_insn kClock{
        .code = BPF_JMP | BPF_CALL, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = BPF_FUNC_ktime_get_ns};
    constexpr bpf_insn kZero{
        .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .src_reg = 0, .off = 0, .imm = 0};
    constexpr bpf_insn kExit{.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0};
    add("bench_empty", std::array{kZero, kExit});
    add("bench_clock", std::array{kClock, kZero, kExit});
    std::fflush(stdout);
  }

 private:
  void add(const char* name, std::span<const bpf_insn> instructions) {
    programs_.emplace_back(
        bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, name, "GPL", instructions.data(), instructions.size(), nullptr));
    links_.emplace_back(bpf_raw_tracepoint_open("sched_switch", programs_.back().get()));
    bpf_prog_info info{};
    __u32 size = sizeof(info);
    if (!timing_ || !links_.back() || bpf_prog_get_info_by_fd(programs_.back().get(), &info, &size) != 0) {
      std::perror("bench_load: timing BPF programs");
      std::exit(1);
    }
    std::printf("%u\n", info.id);
  }

  Descriptor timing_;
  std::vector<Descriptor> programs_;
  std::vector<Descriptor> links_;
};

[[noreturn]] void run_mixture(const cpu_set_t& others) {
  const ProgramTiming timing;
  Shootdowns shootdowns;
  const std::jthread timers(arm_timers);
  const std::jthread loopback(talk_over_loopback);
  const std::jthread struck([&] { shootdowns.wait_to_be_struck(); });
  if (!move_to(others)) std::abort();
  shootdowns.strike();
}

// Reading fresh anonymous memory maps the zero page: the cheapest fault there is, so the most of them.
[[noreturn]] void fault() {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kBytes = 512 * kPage;
  void* memory = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || madvise(memory, kBytes, MADV_NOHUGEPAGE) != 0) std::abort();
  const auto* bytes = static_cast<const volatile char*>(memory);
  while (true) {
    for (std::size_t at = 0; at < kBytes; at += kPage) (void)bytes[at];
    madvise(memory, kBytes, MADV_DONTNEED);
  }
}

[[noreturn]] void run_faults(unsigned long tasks) {
  std::vector<std::jthread> threads;
  while (threads.size() + 1 < tasks) threads.emplace_back(fault);
  fault();
}

// One event of a group of clocks, each of which runs a high-resolution timer on the CPU; without a reader, all that is.
Descriptor open_clock(int cpu, int leader) {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.sample_period = 1'000'000;
  if (leader < 0) attributes.disabled = 1;
  return Descriptor(static_cast<int>(syscall(SYS_perf_event_open, &attributes, -1, cpu, leader, 0)));
}

// Started together, so that one interrupt a millisecond runs all of them: two tracepoints each, and nothing else.
[[noreturn]] void run_timers(unsigned long cpu, unsigned long timers) {
  std::vector<Descriptor> clocks;
  while (clocks.size() < timers) {
    clocks.push_back(open_clock(static_cast<int>(cpu), clocks.empty() ? -1 : clocks.front().get()));
    if (!clocks.back()) {
      std::perror("bench_load: perf_event_open");
      std::exit(1);
    }
  }
  ioctl(clocks.front().get(), PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
  while (true) std::this_thread::sleep_for(1h);
}

}  // namespace

// Usage: bench_load mixture CPU | bench_load faults CPU TASKS | bench_load timers CPU TIMERS
// With a mixture the kernel times BPF programs; the ids of two, for comparison, are printed: one that does nothing, one
// that reads the clock.
int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  const bool mixture = arguments.size() == 2 && arguments[0] == "mixture";
  const bool faults = arguments.size() == 3 && arguments[0] == "faults";
  const bool timers = arguments.size() == 3 && arguments[0] == "timers";
  if (!mixture && !faults && !timers) {
    std::fputs("usage: bench_load mixture CPU | bench_load faults CPU TASKS | bench_load timers CPU TIMERS\n", stderr);
    return 2;
  }
  const unsigned long cpu = std::strtoul(argv[2], nullptr, 10);
  cpu_set_t others;
  cpu_set_t target;
  sched_getaffinity(0, sizeof(others), &others);
  CPU_CLR(cpu, &others);
  if (timers && move_to(others)) run_timers(cpu, std::strtoul(argv[3], nullptr, 10));
  CPU_ZERO(&target);
  CPU_SET(cpu, &target);
  if (!move_to(target)) {
    std::perror("bench_load: sched_setaffinity");
    return 1;
  }
  if (mixture) run_mixture(others);
  run_faults(std::strtoul(argv[3], nullptr, 10));
}
