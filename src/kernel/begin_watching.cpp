// SPDX-License-Identifier: Apache-2.0
// A thread that goes from CPU to CPU.
#include "kernel/begin_watching.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "base/clocks.h"
#include "base/cpus.h"
#include "base/text.h"

namespace noised::kernel {
namespace {

constexpr std::uint64_t kPatienceSeconds = 5;
constexpr useconds_t kLookUs = 1000;

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

}  // namespace

struct Visiting::Visit {
  std::vector<WatchedState> cpus;
  std::atomic<std::size_t> visited{0};
  std::atomic<int> error{0};
  std::atomic<bool> over{false};
};

// It may outlive whoever started it: it shares what it uses.
void* Visiting::run(void* argument) {
  const std::unique_ptr<std::shared_ptr<Visit>> visit(static_cast<std::shared_ptr<Visit>*>(argument));
  for (const WatchedState& each : (*visit)->cpus) {
    const CpuSet there({each.cpu});
    if (sched_setaffinity(0, there.bytes(), there.get()) != 0) {
      (*visit)->error = errno;
      break;
    }
    // Somebody has moved it on its way, or the CPU has gone: what it would say there is not so.
    if (sched_getcpu() != static_cast<int>(each.cpu)) {
      (*visit)->error = EAGAIN;
      break;
    }
    begin_here(*each.state);
    ++(*visit)->visited;
  }
  (*visit)->over = true;
  return nullptr;
}

Result<Visiting> Visiting::start(const std::vector<WatchedState>& cpus) {
  auto visit = std::make_shared<Visit>();
  visit->cpus = cpus;
  auto argument = std::make_unique<std::shared_ptr<Visit>>(visit);
  pthread_t thread{};
  if (const int code = pthread_create(&thread, nullptr, run, argument.get()); code != 0) {
    return failure("starting a thread: " + errno_text(code));
  }
  (void)argument.release();
  (void)pthread_detach(thread);
  return Visiting(std::move(visit));
}

unsigned Visiting::cpu() const { return visit_->cpus[std::min(visit_->visited.load(), visit_->cpus.size() - 1)].cpu; }

std::optional<Status> Visiting::ended() const {
  if (!visit_->over) return std::nullopt;
  if (visit_->visited == visit_->cpus.size()) return success();
  return Status(failure(fmt::format("sched_setaffinity to CPU {}: {}", cpu(), errno_text(visit_->error))));
}

Status begin_watching(const std::vector<WatchedState>& cpus) {
  if (cpus.empty()) return success();
  const auto visiting = Visiting::start(cpus);
  if (!visiting) return visiting.error();
  const std::uint64_t until_ns = monotonic_ns() + kPatienceSeconds * 1'000'000'000;
  for (;; usleep(kLookUs)) {
    if (auto ended = visiting.value().ended()) return *std::move(ended);
    if (monotonic_ns() >= until_ns) break;
  }
  return failure(fmt::format("CPU {} was not given to noised within {} s", visiting.value().cpu(), kPatienceSeconds),
                 "a real-time task has all of it: watch other CPUs (probe.cpus, probe.watched_cpus), or let go of it "
                 "for a moment");
}

}  // namespace noised::kernel
