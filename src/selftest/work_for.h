// SPDX-License-Identifier: Apache-2.0
// One activation of a known size.
#pragma once

#include <cstdint>

#include "base/monotonic.h"
#include "selftest/crew.h"
#include "selftest/truth.h"

namespace noised::selftest {

/// Spins until the thread's CPU clock went on by `work_ns`, however long others have the CPU meanwhile. Both clocks are
/// read at its first and its last instruction. The kernel's own sum over whole activations cannot be compared: it
/// charges a thread that preempts from the moment of its wakeup, here 10 us before it is switched to.
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

}  // namespace noised::selftest
