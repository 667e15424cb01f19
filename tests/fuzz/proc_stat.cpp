// SPDX-License-Identifier: Apache-2.0
// /proc/stat of any bytes: no CPU beyond the kernel's largest number, and what does not fit changes nothing.
#include "fuzz.h"
#include "system/steal_clock.h"

using noised::fuzz::check;

extern "C" int fuzz_proc_stat(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = noised::fuzz::text(data, size);
  constexpr std::uint64_t kStepNs = 10'000'000;
  std::vector<std::uint64_t> stolen_ns;
  noised::system::parse_steal(text, kStepNs, stolen_ns);
  check(stolen_ns.size() <= 8192, "no CPU that cannot be");
  using noised::system::kNeverListed;
  for (const std::uint64_t ns : stolen_ns) check(ns % kStepNs == 0 || ns == kNeverListed, "whole steps, or not listed");
  const std::vector<std::uint64_t> once = stolen_ns;
  noised::system::parse_steal(text, kStepNs, stolen_ns);
  check(stolen_ns == once, "the same text says the same");
  return 0;
}
