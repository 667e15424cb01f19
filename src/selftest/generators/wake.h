// SPDX-License-Identifier: Apache-2.0
// What the ways out of a sleep and into it cost here.
#pragma once

#include <cstdint>

#include "selftest/generator.h"

namespace noised::selftest {

/// Nanoseconds that the kernel charges a thread on options.cpu for being woken from another CPU and sleeping again,
/// with no work in between: nine of ten cost less. It takes 100 ms. Some 10 to 45 us here, near a millisecond where the
/// machine is emulated; 0 if it cannot be measured.
std::uint64_t wake_cost_ns(GeneratorOptions options);

}  // namespace noised::selftest
