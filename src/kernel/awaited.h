// SPDX-License-Identifier: Apache-2.0
// Memory that BPF programs write while it is read.
#pragma once

#include <atomic>

namespace noised::kernel {

/// A program finishes within 100 ns what it began, if nothing interrupts it; looking so often takes some 5 us.
inline constexpr int kAttempts = 5000;

/// What a program wrote last, and with it all that it wrote before.
template <typename Number>
Number acquire(Number& shared) {
  return std::atomic_ref<Number>(shared).load(std::memory_order_acquire);
}

}  // namespace noised::kernel
