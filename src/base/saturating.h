// SPDX-License-Identifier: Apache-2.0
// Addition that stops at the largest u64: a full counter stays full instead of starting again at zero.
#pragma once

#include <cstdint>

namespace noised {

/// The sum, or UINT64_MAX where that does not fit.
constexpr std::uint64_t saturating_add(std::uint64_t left, std::uint64_t right) {
  const std::uint64_t sum = left + right;
  return sum < left ? UINT64_MAX : sum;
}

}  // namespace noised
