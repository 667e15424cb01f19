// SPDX-License-Identifier: Apache-2.0
// The clock that the kernel's records carry.
#pragma once

#include <time.h>

#include <cstdint>

namespace noised {

/// CLOCK_MONOTONIC in ns; about 25 ns, without a system call.
inline std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace noised
