// SPDX-License-Identifier: Apache-2.0
// Values with units as users write them: times, sizes and CPU lists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <noised/result.h>

namespace noised {

/// A time such as "200ns", "1.5ms", "10s" (ns, us, ms, s, m, h) in nanoseconds; usage error otherwise.
Result<std::uint64_t> parse_time(std::string_view text);

/// A size such as "65536", "512KiB", "2MiB" in bytes; usage error otherwise.
Result<std::uint64_t> parse_size(std::string_view text);

/// A kernel CPU list ("1-3,5"; strides "0-7:2/4" too) as sorted unique numbers; an empty text is an empty list.
Result<std::vector<unsigned>> parse_cpu_list(std::string_view text);

/// The shortest kernel CPU list of sorted unique numbers.
std::string format_cpu_list(const std::vector<unsigned>& cpus);

}  // namespace noised
