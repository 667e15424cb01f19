// SPDX-License-Identifier: Apache-2.0
// Values with units as users write them: times, sizes and shares.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace noised {

/// A time such as "200ns", "1.5ms", "10s" (ns, us, ms, s, m, h) in nanoseconds; usage error otherwise.
Result<std::uint64_t> parse_time(std::string_view text);

/// A size such as "65536", "512KiB", "2MiB" in bytes; usage error otherwise.
Result<std::uint64_t> parse_size(std::string_view text);

/// A share such as "0.1%" in billionths; usage error otherwise.
Result<std::uint64_t> parse_share(std::string_view text);

}  // namespace noised
