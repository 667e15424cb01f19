// SPDX-License-Identifier: Apache-2.0
// The time stamp counter.
#pragma once

#include <x86intrin.h>

#include <cstdint>

namespace noised {

/// The counter now, unfenced: a fence costs 4 ns an iteration and the loop needs differences far above its disorder.
inline std::uint64_t read_tsc() { return __rdtsc(); }

/// The counter now, not before earlier loads and not after later instructions: for clock samples.
inline std::uint64_t read_tsc_ordered() {
  unsigned int unused = 0;
  _mm_lfence();
  const std::uint64_t ticks = __rdtscp(&unused);
  _mm_lfence();
  return ticks;
}

}  // namespace noised
