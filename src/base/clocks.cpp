// SPDX-License-Identifier: Apache-2.0
#include "base/clocks.h"

#include <chrono>

#include <fmt/chrono.h>

namespace noised {

std::string utc_now(std::uint64_t ago_ns) {
  const auto then = std::chrono::system_clock::now() - std::chrono::nanoseconds(ago_ns);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(then)));
}

}  // namespace noised
