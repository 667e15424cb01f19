// SPDX-License-Identifier: Apache-2.0
// Sizes as users write them.
#include <array>

#include "base/units.h"
#include "quantity.h"

namespace {

using noised::fuzz::KnownUnit;

constexpr std::array kSizeUnits = {
    KnownUnit{"", 1},
    KnownUnit{"B", 1},
    KnownUnit{"KiB", 1U << 10U},
    KnownUnit{"MiB", 1U << 20U},
    KnownUnit{"GiB", 1U << 30U},
};

}  // namespace

extern "C" int fuzz_parse_size(const std::uint8_t* data, std::size_t size) {
  noised::fuzz::check_quantity(noised::fuzz::text(data, size), kSizeUnits, noised::parse_size);
  return 0;
}
