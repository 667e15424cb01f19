// SPDX-License-Identifier: Apache-2.0
// Times as users write them.
#include <array>

#include "base/units.h"
#include "quantity.h"

namespace {

using noised::fuzz::KnownUnit;

constexpr std::array kTimeUnits = {
    KnownUnit{"ns", 1},
    KnownUnit{"us", 1'000},
    KnownUnit{"ms", 1'000'000},
    KnownUnit{"s", 1'000'000'000},
    KnownUnit{"m", 60'000'000'000},
    KnownUnit{"h", 3'600'000'000'000},
};

}  // namespace

extern "C" int fuzz_parse_time(const std::uint8_t* data, std::size_t size) {
  noised::fuzz::check_quantity(noised::fuzz::text(data, size), kTimeUnits, noised::parse_time);
  return 0;
}
