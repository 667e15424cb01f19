// SPDX-License-Identifier: Apache-2.0
// A task that takes the CPU is named, and its time is what it measured itself.
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <thread>

#include "base/monotonic.h"
#include "measurement.h"

using namespace noised;
using namespace noised::live;

namespace {

struct Truth {
  std::uint64_t activations = 0;
  std::uint64_t stretches = 0;  ///< activations that followed a sleep; the host can make one so late that none was left
  std::uint64_t busy_ns = 0;
  std::uint64_t elsewhere = 0;  ///< activations on another CPU: somebody changed the thread's affinity
};

// Runs 2 ms every 20 ms on the CPU. Real time, so that each activation is one stretch of running.
Truth run_periodically(unsigned cpu, std::uint64_t milliseconds) {
  Truth truth;
  std::jthread([&truth, cpu, milliseconds] {
    prctl(PR_SET_NAME, "noised-truth");
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    const sched_param priority{2};
    if (sched_setaffinity(0, sizeof(set), &set) != 0 || sched_setscheduler(0, SCHED_FIFO, &priority) != 0) return;
    const std::uint64_t end = monotonic_ns() + milliseconds * 1'000'000;
    for (std::uint64_t next = monotonic_ns() + 20'000'000; next < end; next += 20'000'000) {
      const timespec until{static_cast<time_t>(next / 1'000'000'000), static_cast<long>(next % 1'000'000'000)};
      if (monotonic_ns() < next) ++truth.stretches;
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
      const std::uint64_t start = monotonic_ns();
      std::uint64_t now = start;
      while (now - start < 2'000'000) now = monotonic_ns();
      truth.busy_ns += now - start;
      ++truth.activations;
      if (sched_getcpu() != static_cast<int>(cpu)) ++truth.elsewhere;
    }
  }).join();
  return truth;
}

// What ran inside the task's stretches belongs to others in the ledger, but to the task by its own clock. On a busy
// host it is not little: time stolen from the CPU within an interrupt is in there too.
std::uint64_t nested_ns(const std::vector<DetourView>& detours) {
  std::uint64_t sum = 0;
  for (const DetourView& detour : detours) {
    const auto is_truth = [](const DetourEntryView& e) { return e.kind == "task" && e.name == "noised-truth"; };
    if (std::none_of(detour.entries.begin(), detour.entries.end(), is_truth)) continue;
    bool inside = false;
    for (const DetourEntryView& entry : detour.entries) {
      if (entry.depth == 0) inside = is_truth(entry);
      if (inside && entry.depth > 0) sum += entry.self_ns;
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("tasks: one that runs 2 ms every 20 ms is named, counted and timed within 2%") {
  const unsigned cpu = probed_cpu();
  Truth truth;
  Measurement measurement(cpu);
  measurement.begin();
  measurement.run(4000, [&] { truth = run_periodically(cpu, 3800); });
  measurement.end();
  const Report report = measurement.report();
  const Seen task = seen(report, "task", "noised-truth");
  REQUIRE(truth.activations > 100);
  REQUIRE(truth.elsewhere == 0);
  INFO("by its own clock " << truth.activations << " times (" << truth.stretches << " after a sleep), " << truth.busy_ns
                           << " ns; noised " << task.count << " times, " << task.total_ns << " ns; nested in it "
                           << nested_ns(measurement.detours()) << " ns; incomplete " << report.lost.incomplete_detours);
  // Beside its activations, the thread runs briefly when it moves to the CPU and when it ends.
  CHECK(task.count >= truth.stretches);
  CHECK(task.count <= truth.activations + 4);
  const std::uint64_t total_ns = task.total_ns + nested_ns(measurement.detours());
  CHECK(std::abs(static_cast<double>(total_ns) / static_cast<double>(truth.busy_ns) - 1) <= 0.02);
}
