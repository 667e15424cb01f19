// SPDX-License-Identifier: Apache-2.0
// How long phases of work may be, and what else the user says of them.
#pragma once

#include <noised/result.h>

#include <cstdint>
#include <string_view>

namespace noised {

/// Below it a phase is no longer than what the loop takes for noise; above it no recording is long enough.
inline constexpr std::uint64_t kShortestGrainNs = 1'000;
inline constexpr std::uint64_t kLongestGrainNs = 1'000'000'000;

/// A time from 1 us to 1 s in nanoseconds, or 0: no phases; usage error otherwise.
Result<std::uint64_t> parse_grain(std::string_view text);

}  // namespace noised
