// SPDX-License-Identifier: Apache-2.0
// What a switch between two tasks costs here.
#pragma once

#include <cstdint>

namespace noised::live {

/// Nanoseconds of a switch on the CPU that the caller is on: half of what a byte takes to another thread and back, the
/// median of 100. A few microseconds on hardware, 100 and more where it is emulated. 0 if it cannot be measured.
std::uint64_t switch_cost_ns();

}  // namespace noised::live
