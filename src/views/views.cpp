// SPDX-License-Identifier: Apache-2.0
// A duration in the unit that leaves three significant digits.
#include "views/views.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "views/text.h"

namespace noised::views {
namespace {

struct Unit {
  std::uint64_t nanoseconds;
  const char* name;
};

constexpr std::array<Unit, 5> kUnits{
    {{1'000, "us"}, {1'000'000, "ms"}, {1'000'000'000, "s"}, {60'000'000'000, "m"}, {3'600'000'000'000, "h"}}};

// Half up, and without the sum that could overflow.
std::uint64_t divide_rounded(std::uint64_t value, std::uint64_t step) {
  return value / step + (value % step >= step - value % step ? 1 : 0);
}

std::string decimal(std::uint64_t scaled, std::uint64_t one, unsigned digits, const char* unit) {
  if (digits == 0) return fmt::format("{} {}", scaled, unit);
  return fmt::format("{}.{:0{}} {}", scaled / one, scaled % one, digits, unit);
}

}  // namespace

std::string format_duration(std::uint64_t nanoseconds) {
  if (nanoseconds < 1000) return fmt::format("{} ns", nanoseconds);
  for (const Unit& unit : kUnits) {
    std::uint64_t one = 100;
    for (unsigned digits = 2;; --digits, one /= 10) {
      // A rounded value of 1000 would have a digit too many (9.996 us is 10.0 us): the next coarser step shows it.
      const std::uint64_t scaled = divide_rounded(nanoseconds, unit.nanoseconds / one);
      if (scaled < 1000) return decimal(scaled, one, digits, unit.name);
      if (digits == 0) break;
    }
  }
  return decimal(divide_rounded(nanoseconds, kUnits.back().nanoseconds), 1, 0, kUnits.back().name);
}

std::string signed_duration(double ns) {
  constexpr double kMost = 1e18;
  const auto size = static_cast<std::uint64_t>(std::llround(std::min(std::abs(ns), kMost)));
  return (ns < 0 && size != 0 ? "-" : "") + format_duration(size);
}

}  // namespace noised::views
