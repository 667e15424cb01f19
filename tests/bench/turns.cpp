// SPDX-License-Identifier: Apache-2.0
// What interruptions of a loop take, and what those take that cause them on its CPU, from one line on standard input
// to the next: while somebody watches and while nobody does, in turns.
#include <fmt/format.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/clocks.h"

using namespace noised;

namespace {

// A loop's iteration takes 10 ns, and the shortest interruption 1 us.
constexpr std::uint64_t kInterruptedNs = 400;
// A tick begins within so much of its period; what a host takes by the way begins anywhere in it.
constexpr std::uint64_t kTickJitterNs = 20'000;
// Of three kinds of disturbances, none an even part of a tick's period: each comes alone most of the time.
constexpr std::uint64_t kSleepNs = 1'370'000;
constexpr std::uint64_t kCallNs = 1'130'000;
constexpr std::size_t kRoom = 1U << 17U;

double ticks_per_ns = 0;

std::uint64_t to_ns(std::uint64_t ticks) {
  return static_cast<std::uint64_t>(static_cast<double>(ticks) / ticks_per_ns);
}

// How often each disturbance has come to the loop's CPU. A loop that was interrupted looks which it was.
struct Disturbances {
  std::atomic<std::uint32_t> slept{0};   // a task there, that a timer woke
  std::atomic<std::uint32_t> called{0};  // a function there, that another CPU asked for; counted before it asks
  std::atomic<std::uint32_t> woken{0};   // a task there, that another CPU woke
};

struct Interruption {
  std::uint64_t begin_ticks;
  std::uint64_t end_ticks;
  std::uint32_t slept, called, woken;  // up to its end
};

// One writer, one reader; as long as it lasts nothing is written twice.
template <typename Value>
class Log {
 public:
  Log() : values_(kRoom) {}
  void add(const Value& value) {
    const std::size_t at = written_.load(std::memory_order_relaxed);
    values_[at % kRoom] = value;
    written_.store(at + 1, std::memory_order_release);
  }
  // What came since the last time.
  std::vector<Value> take() {
    const std::size_t until = written_.load(std::memory_order_acquire);
    std::vector<Value> taken;
    for (; read_ != until; ++read_) taken.push_back(values_[read_ % kRoom]);
    return taken;
  }

 private:
  std::vector<Value> values_;
  std::atomic<std::size_t> written_{0};
  std::size_t read_ = 0;
};

void settle(unsigned cpu, int priority) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  const sched_param parameters{priority};
  if (sched_setaffinity(0, sizeof(set), &set) == 0 &&
      (priority == 0 || sched_setscheduler(0, SCHED_FIFO, &parameters) == 0))
    return;
  std::perror("bench_turns: settling on a CPU");
  std::_Exit(1);
}

void sleep_until(std::uint64_t ns) {
  const timespec until{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

void loop(unsigned cpu, const Disturbances& by, Log<Interruption>& log, const std::atomic<bool>& over) {
  settle(cpu, 0);
  const auto interrupted = static_cast<std::uint64_t>(static_cast<double>(kInterruptedNs) * ticks_per_ns);
  for (std::uint64_t before = read_tsc(); !over.load(std::memory_order_relaxed);) {
    const std::uint64_t now = read_tsc();
    if (now - before >= interrupted) log.add({before, now, by.slept, by.called, by.woken});
    before = now;
  }
}

void sleeper(unsigned cpu, Disturbances& by, const std::atomic<bool>& over) {
  settle(cpu, 1);
  prctl(PR_SET_TIMERSLACK, 1);
  for (std::uint64_t next = monotonic_ns(); !over; next = std::max(next + kSleepNs, monotonic_ns())) {
    ++by.slept;
    sleep_until(next);
  }
}

long futex(std::atomic<std::uint32_t>& word, int what, std::uint32_t value) {
  return syscall(SYS_futex, &word, what | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

// A task there that waits for the caller.
void woken(unsigned cpu, std::atomic<std::uint32_t>& word, Disturbances& by, const std::atomic<bool>& over) {
  settle(cpu, 1);
  for (std::uint32_t seen = 0; !over; seen = word) {
    ++by.woken;
    futex(word, FUTEX_WAIT, seen);
  }
}

// What it took the caller to have a function called there, which ends when it was, and to wake a task there.
struct Causes {
  Log<std::uint64_t> calls;
  Log<std::uint64_t> wakeups;
};

void caller(unsigned cpu, unsigned there, std::atomic<std::uint32_t>& word, Disturbances& by, Causes& causes,
            const std::atomic<bool>& over) {
  settle(cpu, 1);
  prctl(PR_SET_TIMERSLACK, 1);
  for (std::uint64_t next = monotonic_ns() + kCallNs; !over; next = std::max(next + kCallNs, monotonic_ns())) {
    sleep_until(next);
    ++by.called;
    std::uint64_t begin = read_tsc_ordered();
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, MEMBARRIER_CMD_FLAG_CPU, there);
    causes.calls.add(read_tsc_ordered() - begin);
    next = std::max(next + kCallNs, monotonic_ns());
    sleep_until(next);
    ++word;
    begin = read_tsc_ordered();
    futex(word, FUTEX_WAKE, 1);
    causes.wakeups.add(read_tsc_ordered() - begin);
  }
}

// The moment in a tick's period in which most of what has no other cause begins.
std::uint64_t tick_phase(const std::vector<std::uint64_t>& phases, std::uint64_t period) {
  std::uint64_t best = 0;
  std::ptrdiff_t most = 0;
  for (const std::uint64_t phase : phases) {
    const auto near = std::ranges::count_if(
        phases, [&](std::uint64_t other) { return (other + period - phase) % period <= kTickJitterNs; });
    if (near > most) {
      most = near;
      best = phase;
    }
  }
  return best;
}

std::string as_json(const char* name, std::vector<std::uint64_t> ticks) {
  std::ranges::sort(ticks);
  const double median = ticks.empty() ? 0 : static_cast<double>(ticks[ticks.size() / 2]);
  return fmt::format("\"{}\": [{}, {:.1f}]", name, ticks.size(), median / ticks_per_ns);
}

// Each kind of interruption alone: how many there were, and what the one in the middle took in ns.
void print_turn(const std::vector<Interruption>& all, Causes& causes, std::uint64_t period_ns) {
  std::vector<std::uint64_t> phases;
  const auto phase = [&](const Interruption& each) {
    return to_ns(each.begin_ticks - all.front().begin_ticks) % period_ns;
  };
  const auto differs = [&](std::size_t i) {
    return std::array{all[i].slept - all[i - 1].slept, all[i].called - all[i - 1].called,
                      all[i].woken - all[i - 1].woken};
  };
  constexpr std::array<std::uint32_t, 3> kNone{};
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (differs(i) == kNone) phases.push_back(phase(all[i]));
  }
  const std::uint64_t tick = tick_phase(phases, period_ns);
  std::array<std::vector<std::uint64_t>, 4> took;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const std::array<std::uint32_t, 3> by = differs(i);
    const std::uint64_t since_tick = (phase(all[i]) + period_ns - tick) % period_ns;
    const std::uint64_t ticks = all[i].end_ticks - all[i].begin_ticks;
    if (by == kNone && since_tick <= kTickJitterNs) took[0].push_back(ticks);
    if (by == kNone || since_tick <= kTickJitterNs || since_tick + to_ns(ticks) >= period_ns) continue;
    for (std::size_t kind = 0; kind < by.size(); ++kind) {
      std::array<std::uint32_t, 3> alone{};
      alone[kind] = 1;
      if (by == alone) took[kind + 1].push_back(ticks);
    }
  }
  fmt::print("{{{}, {}, {}, {}, {}, {}}}\n", as_json("tick", took[0]), as_json("timer", took[1]),
             as_json("call", took[2]), as_json("wakeup", took[3]), as_json("caller", causes.calls.take()),
             as_json("waker", causes.wakeups.take()));
  std::fflush(stdout);
}

}  // namespace

// LOOP CPU: where the loop runs. CPU: whom the others watch; a loop is there too. TICKS a second. A line on standard
// input begins a turn, and ends the one before. Prints the id of the thread of the loop on CPU, then a line for each
// turn; ends with standard input.
int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto loop_cpu = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
  const auto watched_cpu = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
  const std::uint64_t period_ns = 1'000'000'000 / std::strtoul(argv[3], nullptr, 10);
  const std::uint64_t ns = monotonic_ns();
  const std::uint64_t ticks = read_tsc();
  while (monotonic_ns() - ns < 100'000'000) {
  }
  ticks_per_ns = static_cast<double>(read_tsc() - ticks) / static_cast<double>(monotonic_ns() - ns);
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0) != 0) {
    std::perror("bench_turns: membarrier");
    return 1;
  }
  cpu_set_t here;
  sched_getaffinity(0, sizeof(here), &here);
  Disturbances by;
  Log<Interruption> log;
  Causes causes;
  std::atomic<std::uint32_t> word{0};
  std::atomic<bool> over{false};
  std::atomic<pid_t> watched_thread{0};
  Log<Interruption> unused;
  {
    std::vector<std::jthread> threads;
    threads.emplace_back([&] {
      if (loop_cpu == watched_cpu) watched_thread = gettid();
      loop(loop_cpu, by, log, over);
    });
    threads.emplace_back([&] { sleeper(loop_cpu, by, over); });
    if (loop_cpu == watched_cpu) {
      unsigned other = 0;
      while (other == watched_cpu || !CPU_ISSET(other, &here)) ++other;
      threads.emplace_back([&] { woken(watched_cpu, word, by, over); });
      threads.emplace_back([&, other] { caller(other, watched_cpu, word, by, causes, over); });
    } else {
      threads.emplace_back([&] {
        watched_thread = gettid();
        loop(watched_cpu, by, unused, over);
      });
    }
    while (watched_thread == 0) sched_yield();
    fmt::print("{}\n", watched_thread.load());
    std::fflush(stdout);
    for (bool begun = false; std::getchar() != EOF; begun = true) {
      const std::vector<Interruption> all = log.take();
      if (begun) {
        print_turn(all, causes, period_ns);
      } else {
        (void)causes.calls.take();
        (void)causes.wakeups.take();
      }
    }
    over = true;
    ++word;
    futex(word, FUTEX_WAKE, 1);
  }
}
