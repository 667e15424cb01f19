// SPDX-License-Identifier: Apache-2.0
// Time per iteration of noised's own loop, the object it ships, in turns with the least loop that could do its work.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/clocks.h"
#include "probe/detour_loop.h"

using namespace noised;
using namespace noised::probe;

namespace {

constexpr int kTurns = 10;
// 4096 iterations are 38 us: short enough that most chunks see no interruption even on a host that steals 1% in gaps
// of 10 to 20 us, so the median is the loop's own time. The two clock reads around a chunk are 0.02% of it.
constexpr int kChunksPerTurn = 600;
constexpr std::uint64_t kThresholdTicks = 520;  // 200 ns at 2.6 GHz, the default; its value does not change the cost
constexpr std::uint64_t kStoringLimitTicks = 2'600;

[[gnu::noinline]] std::uint64_t run_bare_loop() {
  std::uint64_t gaps = 0;
  std::uint64_t last = read_tsc();
  for (std::uint64_t left = kLoopBatch; left != 0; --left) {
    const std::uint64_t now = read_tsc();
    if (now - last > kThresholdTicks) [[unlikely]] {
      ++gaps;
    }
    last = now;
  }
  return gaps;
}

class NoisedLoop {
 public:
  NoisedLoop() : cpu_(static_cast<unsigned>(sched_getcpu())), ring_(1U << 12U) { popped_.reserve(ring_.capacity()); }
  // Told to stop before it starts, the loop does one batch and publishes its progress, as it does between batches.
  void run_batch() {
    progress_.seen_ticks = 0;  // not the continuation of the last batch
    run_detour_loop(ring_, progress_, stop_, {cpu_, kThresholdTicks, kStoringLimitTicks, UINT64_MAX});
  }
  void empty_ring() {
    popped_.clear();
    ring_.pop_all(popped_);
  }

 private:
  unsigned cpu_;
  DetourRing ring_;
  LoopProgress progress_;
  const std::atomic<bool> stop_{true};
  std::vector<TickDetour> popped_;
};

template <typename Run>
std::uint64_t ticks_of(Run run) {
  const std::uint64_t begin = read_tsc();
  run();
  return read_tsc() - begin;
}

double median(std::vector<std::uint64_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

}  // namespace

// Usage: bench_loop CPU. Prints nanoseconds an iteration of noised's loop and of the bare loop, and ticks a second.
int main(int argc, char** argv) {
  cpu_set_t cpu;
  CPU_ZERO(&cpu);
  if (argc == 2) CPU_SET(std::strtoul(argv[1], nullptr, 10), &cpu);
  if (argc != 2 || sched_setaffinity(0, sizeof(cpu), &cpu) != 0) {
    fmt::print(stderr, "bench_loop: give the number of an online CPU\n");
    return 2;
  }
  NoisedLoop noised_loop;
  std::vector<std::uint64_t> noised_ticks;
  std::vector<std::uint64_t> bare_ticks;
  std::uint64_t gaps = 0;
  const std::uint64_t begin_ns = monotonic_ns();
  const std::uint64_t begin_ticks = read_tsc_ordered();
  for (int turn = 0; turn < kTurns; ++turn) {
    for (int chunk = 0; chunk < kChunksPerTurn; ++chunk) {
      noised_ticks.push_back(ticks_of([&] { noised_loop.run_batch(); }));
    }
    noised_loop.empty_ring();
    for (int chunk = 0; chunk < kChunksPerTurn; ++chunk) {
      bare_ticks.push_back(ticks_of([&] { gaps += run_bare_loop(); }));
    }
  }
  const std::uint64_t ns = monotonic_ns() - begin_ns;
  const double ticks_per_ns = static_cast<double>(read_tsc_ordered() - begin_ticks) / static_cast<double>(ns);
  const double per_iteration = 1 / ticks_per_ns / static_cast<double>(kLoopBatch);
  fmt::print(R"({{"noised_ns":{:.4f},"bare_ns":{:.4f},"ticks_per_second":{:.0f},"gaps":{}}})"
             "\n",
             median(noised_ticks) * per_iteration, median(bare_ticks) * per_iteration, ticks_per_ns * 1e9, gaps);
  return 0;
}
