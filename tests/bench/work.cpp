// SPDX-License-Identifier: Apache-2.0
// Work in steps of a fixed size, on a CPU that a timer interrupts 1000 times a second: what is taken from it.
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

#include "base/clocks.h"

using namespace noised;

namespace {

constexpr std::uint64_t kPeriodNs = 1'000'000;
constexpr double kWarmUpNs = 100e6;
constexpr double kDurationNs = 500e6;
// A step of the work that takes longer than this was interrupted by the timer: with a wakeup, it takes 20 to 60 us.
constexpr double kInterruptedNs = 5'000;

// A step of the work, in nothing but registers, so that what it takes longer is time that was taken from it.
std::uint64_t step(std::uint64_t state) {
  for (int i = 0; i < 16; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(state));
  }
  return state;
}

// What each interrupted step took, in ticks.
std::vector<std::uint64_t> work(double ticks_per_ns, double for_ns) {
  const auto interrupted = static_cast<std::uint64_t>(kInterruptedNs * ticks_per_ns);
  const auto duration = static_cast<std::uint64_t>(for_ns * ticks_per_ns);
  std::vector<std::uint64_t> taken;
  taken.reserve(100'000);
  const std::uint64_t begin = read_tsc();
  std::uint64_t state = begin;
  for (std::uint64_t before = begin; before - begin < duration;) {
    state = step(state);
    const std::uint64_t now = read_tsc();
    if (now - before >= interrupted && taken.size() < taken.capacity()) taken.push_back(now - before);
    before = now;
  }
  return taken;
}

// The mean of the middle half: what a host takes by the way, up to milliseconds, is in the upper quarter.
double middle(std::vector<std::uint64_t> values) {
  std::ranges::sort(values);
  const std::size_t quarter = values.size() / 4;
  const std::size_t count = values.size() - 2 * quarter;
  double sum = 0;
  for (std::size_t i = quarter; i < quarter + count; ++i) sum += static_cast<double>(values[i]);
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

double ticks_per_ns() {
  const std::uint64_t ticks = read_tsc();
  const std::uint64_t ns = monotonic_ns();
  while (monotonic_ns() - ns < 50'000'000) {
  }
  const std::uint64_t later = read_tsc();
  return static_cast<double>(later - ticks) / static_cast<double>(monotonic_ns() - ns);
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

// CPU: where. Prints as JSON what an interrupt takes from the work, and how many the kernel counted.
int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto cpu = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
  if (!settle(cpu, 0)) return 1;
  prctl(PR_SET_TIMERSLACK, 1);
  const double rate = ticks_per_ns();
  std::atomic<bool> over{false};
  std::jthread timer([&] { interrupt(cpu, over); });
  (void)work(rate, kWarmUpNs);
  const std::uint64_t interrupts = timer_interrupts(cpu);
  const std::uint64_t begin_ns = monotonic_ns();
  const std::vector<std::uint64_t> taken = work(rate, kDurationNs);
  const auto seconds = static_cast<double>(monotonic_ns() - begin_ns) / 1e9;
  const auto struck = static_cast<double>(timer_interrupts(cpu) - interrupts);
  over = true;
  timer.join();
  fmt::print("{{\"taken_ns\": {:.1f}, \"timer_interrupts_per_second\": {:.0f}}}\n", middle(taken) / rate,
             struck / seconds);
}
