// SPDX-License-Identifier: Apache-2.0
// One activation of a known size.
#pragma once

#include <sys/resource.h>

#include <cstdint>

#include "base/monotonic.h"
#include "selftest/crew.h"
#include "selftest/truth.h"

namespace noised::selftest {

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
