// SPDX-License-Identifier: Apache-2.0
// noisectl detours: the latest detours, one a line.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "noisectl/client/options.h"
#include "views/detour.h"

namespace noised::client {

struct DetoursOptions : SharedOptions {
  bool json = false;
  bool follow = false;                 ///< go on until stopped
  std::uint64_t min_ns = 0;            ///< only those at least this long
  std::optional<std::uint64_t> count;  ///< end after so many
  views::ShownClock clock = views::ShownClock::boot;
  std::uint32_t longest = 0;  ///< so many of the longest since the start, in place of the latest; 0: these
};

/// Prints the detours of a daemon or of a recording.
Status run_detours(const DetoursOptions& options);

}  // namespace noised::client
