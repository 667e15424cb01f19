// SPDX-License-Identifier: Apache-2.0
// Times, sizes and shares: a decimal number and a unit, exact or refused.
#include "base/units.h"

#include <array>
#include <span>

#include "base/text.h"

namespace noised {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

struct Quantity {
  std::string_view name;    // "time"
  std::string_view base;    // what it is counted in
  std::string_view remedy;  // how to write it
  std::span<const Unit> units;
};

struct Number {
  std::uint64_t digits = 0;  // with the point left out
  std::uint64_t scale = 1;   // what to divide by: 10 for each digit after the point
  std::string_view unit;
  bool valid = false;
  bool too_large = false;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

Number split_number(std::string_view text) {
  Number number;
  bool after_point = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '.' && !after_point && at > 0) {
      after_point = true;
      number.valid = false;  // until a digit follows
      continue;
    }
    if (!is_digit(text[at])) break;
    number.valid = true;
    const auto digit = static_cast<std::uint64_t>(text[at] - '0');
    number.too_large |= __builtin_mul_overflow(number.digits, std::uint64_t{10}, &number.digits);
    number.too_large |= __builtin_add_overflow(number.digits, digit, &number.digits);
    if (after_point) number.too_large |= __builtin_mul_overflow(number.scale, std::uint64_t{10}, &number.scale);
  }
  number.unit = text.substr(at);
  return number;
}

Result<std::uint64_t> parse_quantity(std::string_view text, const Quantity& quantity) {
  const auto refuse = [&](std::string_view why) -> Error {
    return usage_error(std::string(quantity.name) + " " + in_quotes(text) + " " + std::string(why),
                       std::string(quantity.remedy));
  };
  const Number number = split_number(text);
  if (!number.valid) return refuse("is not a number with a unit");
  if (number.too_large) return refuse("is too large or has too many digits");
  // Zero is the same in every unit, and people write it without one.
  if (number.unit.empty() && number.digits == 0) return std::uint64_t{0};
  for (const Unit& unit : quantity.units) {
    if (unit.name != number.unit) continue;
    const auto product = static_cast<unsigned __int128>(number.digits) * unit.factor;
    if (product % number.scale != 0) return refuse("is not a whole number of " + std::string(quantity.base));
    const auto value = product / number.scale;
    if (value > UINT64_MAX) return refuse("is too large or has too many digits");
    return static_cast<std::uint64_t>(value);
  }
  return refuse(number.unit.empty() ? "has no unit" : "has an unknown unit");
}

constexpr std::array kTimeUnits = {
    Unit{"ns", 1},
    Unit{"us", 1000},
    Unit{"ms", 1000UL * 1000},
    Unit{"s", 1000ULL * 1000 * 1000},
    Unit{"m", 60'000'000'000ULL},
    Unit{"h", 3'600'000'000'000ULL},
};
constexpr std::array kSizeUnits = {
    Unit{"", 1}, Unit{"B", 1}, Unit{"KiB", 1ULL << 10}, Unit{"MiB", 1ULL << 20}, Unit{"GiB", 1ULL << 30},
};

constexpr std::array kShareUnits = {Unit{"%", 10'000'000}};

}  // namespace

Result<std::uint64_t> parse_time(std::string_view text) {
  return parse_quantity(
      text, {"time", "nanoseconds", "write a number with ns, us, ms, s, m or h, such as 200ns", kTimeUnits});
}

Result<std::uint64_t> parse_size(std::string_view text) {
  return parse_quantity(
      text, {"size", "bytes", "write a number with KiB, MiB or GiB (none: bytes), such as 2MiB", kSizeUnits});
}

Result<std::uint64_t> parse_share(std::string_view text) {
  return parse_quantity(text, {"share", "billionths", "write percent, such as 0.1%", kShareUnits});
}

}  // namespace noised
