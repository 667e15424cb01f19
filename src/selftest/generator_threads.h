// SPDX-License-Identifier: Apache-2.0
// One activation of a known size.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clocks.h"
#include "base/result.h"
#include "selftest/generator.h"
#include "selftest/truth.h"

namespace noised::selftest {

// The threads of a generator: each settled on its CPU before any of them begins, each gone after all have ended.

/// Where and how a thread runs.
struct Place {
  std::string name;  ///< at most 15 bytes
  unsigned cpu = 0;
  bool fifo = false;
  int priority = 0;
};

/// When the threads act. All of them sleep at start_ns and at final_ns, so that what they do before and after, being
/// moved to the CPU and ending, is outside.
struct Window {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;    ///< nothing new begins after this
  std::uint64_t final_ns = 0;  ///< everything is over
};

class GeneratorThreads {
 public:
  using Body = std::function<void(const Window&)>;

  void add(Place place, Body body) { members_.push_back({std::move(place), std::move(body)}); }
  /// Runs all members for so long; fails, and runs none, when one of them cannot be where it should. On a machine so
  /// many times slower they have more time to fall asleep.
  Result<Window> run(std::uint64_t duration_ns, unsigned slower);

 private:
  struct Member {
    Place place;
    Body body;
  };
  std::vector<Member> members_;
};

/// The thread on the measured CPU.
Place on_cpu(const GeneratorOptions& options, std::string name);
/// A helper on one of the other CPUs.
Place elsewhere(const GeneratorOptions& options, std::string name);

/// Sleeps until CLOCK_MONOTONIC says so; at once if that is past.
void sleep_until(std::uint64_t monotonic_ns);
/// CPU time of the calling thread, ns.
std::uint64_t thread_cpu_ns();
/// The calling thread's number, as in /proc.
unsigned thread_id();

/// Spins until the thread's CPU clock went on by `work_ns`, however long others have the CPU meanwhile. Both clocks are
/// read at its first and its last instruction.
inline Occurrence work_for(std::uint64_t work_ns) {
  Occurrence activation;
  activation.start_ns = monotonic_ns();
  const std::uint64_t begin = thread_cpu_ns();
  std::uint64_t now = begin;
  while (now - begin < work_ns) now = thread_cpu_ns();
  activation.cpu_ns = now - begin;
  activation.end_ns = monotonic_ns();
  return activation;
}

/// How often the kernel took the CPU from this thread although it wanted to run on.
inline std::uint64_t preemptions() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nivcsw);
}

/// To be called when the thread has just woken up: what the kernel charged it with since it woke up before is its
/// previous activation, the ways into the sleep and out of it included, as in an interval of noised's. (The kernel
/// counts from the wakeup, here 10 us before the switch; without the ways, 30 us of it would be missing.)
inline void charge(std::uint64_t& woke_cpu_ns, Occurrence* previous) {
  const std::uint64_t now = thread_cpu_ns();
  if (previous != nullptr) previous->charged_ns = now - woke_cpu_ns;
  woke_cpu_ns = now;
}

}  // namespace noised::selftest
