// SPDX-License-Identifier: Apache-2.0
// What holds for times and sizes alike: exact against floating point, and the same value however it is written.
#pragma once

#include <charconv>
#include <cmath>
#include <span>

#include "fuzz.h"

namespace noised::fuzz {

struct KnownUnit {
  std::string_view name;
  std::uint64_t factor;
};

// The value of accepted text by another way: floating point, right to about 16 digits.
inline double approximate(std::string_view text, std::span<const KnownUnit> units) {
  double number = 0;
  // Fixed only: "1e3s" is not a number with a unit.
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error == std::errc{} && unit.empty() && number == 0) return 0;
  for (const KnownUnit& each : units) {
    if (error == std::errc{} && each.name == unit) return number * static_cast<double>(each.factor);
  }
  check(false, "only a decimal number with a known unit is accepted", text);
  return 0;
}

/// Checks what `parse` says about the text; the first unit is the one that the value is counted in.
template <typename Parse>
void check_quantity(std::string_view text, std::span<const KnownUnit> units, Parse parse) {
  const Result<std::uint64_t> result = parse(text);
  if (!result) return check_error(result.error(), ExitCode::usage);
  const std::uint64_t value = result.value();
  const double expected = approximate(text, units);
  check(std::abs(static_cast<double>(value) - expected) <= 1e-12 * expected, "the value is number times unit", text);
  for (const KnownUnit& unit : units) {
    if (value % unit.factor != 0) continue;
    const std::string written = std::to_string(value / unit.factor) + std::string(unit.name);
    const Result<std::uint64_t> again = parse(written);
    check(again.ok() && again.value() == value, "written in another unit it is the same", written);
  }
}

}  // namespace noised::fuzz
