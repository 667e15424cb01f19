// SPDX-License-Identifier: Apache-2.0
// A fixed amount of work, again and again, on a CPU that a timer interrupts 1000 times a second.
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/monotonic.h"

using namespace noised;

namespace {

constexpr std::uint64_t kPeriodNs = 1'000'000;
constexpr std::uint64_t kSteps = 5'000'000;  // 10 ms or so: ten interrupts, and short beside what a host takes
constexpr std::size_t kChunks = 40;

// Nothing but registers, so that what it takes longer is time that was taken from it.
std::uint64_t work() {
  std::uint64_t state = 1;
  for (std::uint64_t i = 0; i < kSteps; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(state));
  }
  return state;
}

bool settle(unsigned cpu, int priority) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  const sched_param parameters{priority};
  return sched_setaffinity(0, sizeof(set), &set) == 0 &&
         (priority == 0 || sched_setscheduler(0, SCHED_FIFO, &parameters) == 0);
}

// Wakes up and sleeps again: an interrupt, and two switches of tasks.
void interrupt(unsigned cpu, const std::atomic<bool>& over) {
  if (!settle(cpu, 1)) std::abort();
  for (std::uint64_t next = monotonic_ns(); !over; next = std::max(next + kPeriodNs, monotonic_ns())) {
    const timespec until{static_cast<time_t>(next / 1'000'000'000), static_cast<long>(next % 1'000'000'000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  }
}

// The line LOC of /proc/interrupts.
std::uint64_t timer_interrupts(unsigned cpu) {
  std::ifstream file("/proc/interrupts");
  std::string line;
  std::getline(file, line);
  std::istringstream header(line);
  unsigned column = 0;
  for (std::string name; header >> name && name != "CPU" + std::to_string(cpu);) ++column;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string label;
    std::uint64_t count = 0;
    if (fields >> label && label == "LOC:") {
      for (unsigned i = 0; i <= column; ++i) fields >> count;
      return count;
    }
  }
  return 0;
}

}  // namespace

// CPU: where. Prints as JSON what the chunks of work took, and how often the timer struck.
int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto cpu = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
  if (!settle(cpu, 0)) return 1;
  prctl(PR_SET_TIMERSLACK, 1);
  std::atomic<bool> over{false};
  std::jthread timer([&] { interrupt(cpu, over); });
  (void)work();
  std::vector<std::uint64_t> took;
  const std::uint64_t interrupts = timer_interrupts(cpu);
  const std::uint64_t begin_ns = monotonic_ns();
  while (took.size() < kChunks) {
    const std::uint64_t start_ns = monotonic_ns();
    (void)work();
    took.push_back(monotonic_ns() - start_ns);
  }
  const auto seconds = static_cast<double>(monotonic_ns() - begin_ns) / 1e9;
  const auto struck = static_cast<double>(timer_interrupts(cpu) - interrupts);
  over = true;
  timer.join();
  std::ranges::sort(took);
  fmt::print("{{\"median_ns\": {}, \"timer_interrupts_per_second\": {:.0f}}}\n", took[kChunks / 2], struck / seconds);
}
