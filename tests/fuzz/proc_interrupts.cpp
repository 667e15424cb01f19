// SPDX-License-Identifier: Apache-2.0
// /proc/interrupts of any bytes: no CPU beyond the kernel's largest number, and the same text counts the same.
#include "fuzz.h"
#include "system/interrupt_counts.h"

using noised::fuzz::check;

extern "C" int fuzz_proc_interrupts(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = noised::fuzz::text(data, size);
  const std::vector<noised::system::InterruptRow> rows = {{"LOC", 1}, {"RES", 2}, {"CAL", 12}};
  std::vector<std::uint64_t> counts;
  noised::system::parse_interrupts(text, rows, counts);
  check(counts.size() <= 8192, "no CPU that cannot be");
  const std::vector<std::uint64_t> once = counts;
  noised::system::parse_interrupts(text, rows, counts);
  check(counts == once, "the same text says the same");
  std::vector<std::uint64_t> none;
  noised::system::parse_interrupts(text, {}, none);
  for (const std::uint64_t count : none) check(count == 0, "no row, no count");
  return 0;
}
