// SPDX-License-Identifier: Apache-2.0
// Settling threads, and the clocks they use.
#include "selftest/generator_threads.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <thread>

#include "base/clocks.h"
#include "base/cpus.h"
#include "base/text.h"

namespace noised::selftest {
namespace {

// Long enough for every member to be asleep when the window opens and when it shuts, on a host that was seen to take
// the CPU for 10 ms.
constexpr std::uint64_t kMargin = 50'000'000;

/// A latch that sleeps at once: std::latch yields first, and each yield is a switch on the measured CPU.
class Gate {
 public:
  explicit Gate(std::size_t awaited) : awaited_(awaited) {}

  void pass() {
    const std::lock_guard lock(mutex_);
    if (--awaited_ == 0) opened_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return awaited_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  std::size_t awaited_;
};

Status settle(const Place& place) {
  pthread_setname_np(pthread_self(), place.name.c_str());
  const sched_param priority{place.priority};
  if (place.fifo && sched_setscheduler(0, SCHED_FIFO, &priority) != 0)
    return failure(std::string("SCHED_FIFO: ") + errno_text(errno), "run as root");
  const CpuSet cpu({place.cpu});
  if (sched_setaffinity(0, cpu.bytes(), cpu.get()) != 0)
    return failure("running on CPU " + std::to_string(place.cpu) + ": " + errno_text(errno));
  return success();
}

}  // namespace

Result<Window> GeneratorThreads::run(std::uint64_t duration_ns, unsigned slower) {
  const std::uint64_t margin = slower * kMargin;
  std::vector<Status> settled(members_.size(), success());
  std::latch ready(static_cast<std::ptrdiff_t>(members_.size()));
  Window window;
  bool cancelled = false;
  std::latch go(1);
  Gate over(members_.size());
  Gate leave(1);
  std::vector<std::jthread> threads;
  threads.reserve(members_.size());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    threads.emplace_back([&, i] {
      settled[i] = settle(members_[i].place);
      ready.count_down();
      go.wait();
      if (cancelled) return;
      members_[i].body(window);
      over.pass();
      leave.wait();
    });
  }
  ready.wait();
  const auto unsettled = std::find_if(settled.begin(), settled.end(), [](const Status& each) { return !each.ok(); });
  cancelled = unsettled != settled.end();
  window.start_ns = monotonic_ns() + margin;
  window.end_ns = window.start_ns + duration_ns;
  window.final_ns = window.end_ns + margin;
  go.count_down();
  if (!cancelled) {
    over.wait();
    // A host that takes the CPU for long makes the last activation end late: everything is over when all have said so.
    window.final_ns = std::max(window.final_ns, monotonic_ns() + margin);
    sleep_until(window.final_ns);
  }
  leave.pass();
  threads.clear();
  if (cancelled) return unsettled->error();
  return window;
}

Place on_cpu(const GeneratorOptions& options, std::string name) {
  return {std::move(name), options.cpu, options.fifo, options.fifo ? options.priority : 0};
}

Place elsewhere(const GeneratorOptions& options, std::string name) {
  return {std::move(name), options.others.back(), false, 0};
}

void sleep_until(std::uint64_t monotonic_ns) {
  const timespec until{static_cast<time_t>(monotonic_ns / 1'000'000'000),
                       static_cast<long>(monotonic_ns % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

std::uint64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

unsigned thread_id() { return static_cast<unsigned>(gettid()); }

}  // namespace noised::selftest
