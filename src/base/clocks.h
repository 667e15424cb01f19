// SPDX-License-Identifier: Apache-2.0
// The clocks: of the kernel's records, of the loop, and of people.
#pragma once

#include <time.h>
#include <x86intrin.h>

#include <cstdint>
#include <string>

namespace noised {

/// CLOCK_MONOTONIC in ns, the clock that the kernel's records carry; about 25 ns, without a system call.
inline std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

/// The time stamp counter now, unfenced: a fence costs 4 ns an iteration and the loop needs differences far above its
/// disorder.
inline std::uint64_t read_tsc() { return __rdtsc(); }

/// The counter now, not before earlier loads and not after later instructions: for clock samples.
inline std::uint64_t read_tsc_ordered() {
  unsigned int unused = 0;
  _mm_lfence();
  const std::uint64_t ticks = __rdtscp(&unused);
  _mm_lfence();
  return ticks;
}

/// Now, or so long ago, as RFC 3339 has it, in UTC, to the second.
std::string utc_now(std::uint64_t ago_ns = 0);

}  // namespace noised
