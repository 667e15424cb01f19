// SPDX-License-Identifier: Apache-2.0
// /proc/kallsyms: whatever the text, every answer stands in it, and one inside a function agrees with its start.
#include "trace/kallsyms.h"

#include <array>
#include <charconv>

#include "fuzz.h"

using noised::Kallsyms;
using noised::fuzz::check;

namespace {

constexpr std::uint64_t kLongestFunction = 1U << 20U;

void look_up(const Kallsyms& symbols, std::uint64_t address, std::string_view text) {
  const auto found = symbols.find(address);
  if (!found || text.find(*found) != std::string_view::npos) return;
  // Not a name of the text, so it must be one with an offset.
  const std::size_t plus = found->rfind("+0x");
  check(plus != std::string::npos, "a name stands in the text", *found);
  std::uint64_t offset = 0;
  const char* const end = found->data() + found->size();
  const auto [stop, error] = std::from_chars(found->data() + plus + 3, end, offset, 16);
  check(error == std::errc{} && stop == end, "an offset is hexadecimal", *found);
  check(offset > 0 && offset < kLongestFunction && offset <= address, "an offset is within a function", *found);
  const auto start = symbols.find(address - offset);
  check(start.has_value() && *start == found->substr(0, plus), "an offset counts from the function's start", *found);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = noised::fuzz::text(data, size);
  const Kallsyms symbols = Kallsyms::parse(text);
  check(!symbols.empty() || !symbols.find(UINT64_MAX), "an empty table finds nothing");
  for (std::size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size()) + 1) {
    std::uint64_t address = 0;
    std::from_chars(text.data() + at, text.data() + text.size(), address, 16);
    for (const std::uint64_t offset :
         std::array{UINT64_MAX, std::uint64_t{0}, std::uint64_t{1}, kLongestFunction - 1, kLongestFunction}) {
      look_up(symbols, address + offset, text);
    }
  }
  return 0;
}
