// SPDX-License-Identifier: Apache-2.0
// Tables like /proc/interrupts of any bytes: a count that is found stands in the text, under its CPU and in its row.
#include "selftest/kernel_count.h"

#include <sstream>

#include "fuzz.h"

using noised::fuzz::check;

extern "C" int fuzz_kernel_count(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned cpu = data[0] % 16;
  const std::string_view text = noised::fuzz::text(data + 1, size - 1);
  std::istringstream table{std::string(text)};
  const auto count = noised::selftest::count_in(table, cpu, "CAL");
  if (!count) return 0;
  check(text.find("CPU" + std::to_string(cpu)) != std::string_view::npos, "the CPU has a column", text);
  const std::size_t row = text.find("CAL:");
  check(row != std::string_view::npos, "there is such a row", text);
  // A stream also takes "-1" for a number, as 2^64 - 1; no kernel writes that.
  const bool is_signed = text.find('-') != std::string_view::npos;
  check(is_signed || text.find(std::to_string(*count), row) != std::string_view::npos, "the count is in the row", text);
  return 0;
}
