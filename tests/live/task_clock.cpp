// SPDX-License-Identifier: Apache-2.0
// A software event of perf, and a thread that takes the CPU from another now and then.
#include "task_clock.h"

#include <linux/perf_event.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/clocks.h"
#include "base/cpus.h"

namespace noised::live {
namespace {

int open_event() {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof(attributes);
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

// With nobody between the two but interrupts, whose time is theirs.
bool settle_on(unsigned cpu, int priority) {
  const CpuSet there({cpu});
  const sched_param real_time{priority};
  return sched_setaffinity(0, there.bytes(), there.get()) == 0 && sched_setscheduler(0, SCHED_FIFO, &real_time) == 0;
}

}  // namespace

TaskClock::TaskClock() : event_(open_event()) {}

std::uint64_t TaskClock::ns() const {
  std::uint64_t value = 0;
  return read(event_.get(), &value, sizeof(value)) == sizeof(value) ? value : 0;
}

std::uint64_t switch_gap_ns(unsigned cpu) {
  constexpr int kTurns = 40;  // 0.4 s: real-time tasks have 0.95 s of each second
  std::vector<std::uint64_t> gaps;
  std::atomic<const TaskClock*> other{nullptr};
  std::atomic<bool> over{false};
  std::jthread spinner([&] {
    const TaskClock clock;
    if (!settle_on(cpu, 2)) return;
    other = &clock;
    while (!over) continue;
  });
  std::jthread([&] {
    const TaskClock clock;
    for (int i = 0; i < 1000 && other == nullptr; ++i) usleep(1000);
    std::uint64_t before_ns = 0;
    for (int turn = 0; turn <= kTurns && other != nullptr && settle_on(cpu, 3); ++turn) {
      usleep(10'000);
      // What neither of them had since the last turn.
      const std::uint64_t gap_ns = monotonic_ns() - clock.ns() - other.load()->ns();
      if (turn != 0) gaps.push_back((gap_ns - before_ns) / 2);
      before_ns = gap_ns;
    }
    over = true;
  }).join();
  spinner.join();
  std::ranges::sort(gaps);
  return gaps.empty() ? 0 : gaps[gaps.size() / 2];
}

}  // namespace noised::live
