// SPDX-License-Identifier: Apache-2.0
#include "base/clocks.h"

#include <chrono>

#include <fmt/chrono.h>

namespace noised {

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

}  // namespace noised
