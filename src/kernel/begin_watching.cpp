// SPDX-License-Identifier: Apache-2.0
// A thread that goes from CPU to CPU.
#include "kernel/begin_watching.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <memory>

#include "base/clocks.h"
#include "base/cpus.h"
#include "base/text.h"

namespace noised::kernel {
namespace {

constexpr std::time_t kPatienceSeconds = 5;

struct Visit {
  std::vector<WatchedState> cpus;
  std::atomic<std::size_t> visited{0};
  std::atomic<int> error{0};
};

void begin_here(noised_cpu& of) {
  auto* const state = static_cast<volatile noised_cpu*>(&of);
  state->probe_pid = 0;
  state->current_pid = static_cast<noised_u32>(gettid());
  state->current_is_kernel = 0;
  state->task_start_ns = monotonic_ns();
  state->split = 0;
  state->task_flags = 0;
  for (auto& pid : state->woken_here) pid = 0;
  state->depth = 0;
  state->watched = NOISED_WATCH_TASKS;
}

// It may outlive the call that made it: it shares what it uses.
void* visit(void* argument) {
  const std::unique_ptr<std::shared_ptr<Visit>> visit(static_cast<std::shared_ptr<Visit>*>(argument));
  for (const WatchedState& each : (*visit)->cpus) {
    const CpuSet there({each.cpu});
    if (sched_setaffinity(0, there.bytes(), there.get()) != 0) {
      (*visit)->error = errno;
      return nullptr;
    }
    begin_here(*each.state);
    ++(*visit)->visited;
  }
  return nullptr;
}

}  // namespace

Status begin_watching(const std::vector<WatchedState>& cpus) {
  auto shared = std::make_shared<Visit>();
  shared->cpus = cpus;
  auto argument = std::make_unique<std::shared_ptr<Visit>>(shared);
  pthread_t thread{};
  if (const int code = pthread_create(&thread, nullptr, visit, argument.get()); code != 0) {
    return failure("starting a thread: " + errno_text(code));
  }
  (void)argument.release();
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += kPatienceSeconds;
  const bool joined = pthread_timedjoin_np(thread, nullptr, &until) == 0;
  if (!joined) (void)pthread_detach(thread);
  if (joined && shared->visited == cpus.size()) return success();
  const unsigned cpu = cpus[shared->visited].cpu;
  if (!joined) {
    return failure(fmt::format("CPU {} was not given to noised within {} s", cpu, kPatienceSeconds),
                   "a real-time task has all of it: watch other CPUs (probe.cpus, probe.watched_cpus), or let go of it "
                   "for a moment");
  }
  return failure(fmt::format("sched_setaffinity to CPU {}: {}", cpu, errno_text(shared->error)));
}

}  // namespace noised::kernel
