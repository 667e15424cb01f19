// SPDX-License-Identifier: Apache-2.0
// The time of day, for people and for what they compare.
#pragma once

#include <fmt/chrono.h>

#include <chrono>
#include <string>

namespace noised {

/// Now, as RFC 3339 has it, in UTC, to the second.
inline std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

}  // namespace noised
