// SPDX-License-Identifier: Apache-2.0
// Sizes of a job, as users write them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <noised/result.h>

namespace noised::client {

/// A list such as "1,10,100" or "1,10,...,1000000" (what is left out has the ratio of the two before it), rising and
/// unique; a usage error otherwise, for a size that is not from 1 to 10^9, and for more than 64 of them.
Result<std::vector<std::uint64_t>> parse_nodes(std::string_view text);

}  // namespace noised::client
