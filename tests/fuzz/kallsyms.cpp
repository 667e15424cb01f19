// SPDX-License-Identifier: Apache-2.0
// /proc/kallsyms and, after an empty line, /proc/modules: whatever the texts, every answer stands in the first, one
// inside a function agrees with its start, and modules only tell how far functions may reach.
#include "system/kallsyms.h"

#include <array>
#include <charconv>

#include "fuzz.h"

using noised::fuzz::check;
using noised::system::Kallsyms;

namespace {

constexpr std::uint64_t kLongestFunction = 64U << 10U;

void look_up(const Kallsyms& symbols, const Kallsyms& unlisted, std::uint64_t address, std::string_view text) {
  const auto start = symbols.at(address);
  check(!start || text.find(*start) != std::string_view::npos, "a name stands in the text");
  check(unlisted.at(address) == start, "what begins somewhere is known without modules");
  const auto found = symbols.around(address);
  check(!start || found == start, "a function is at its start");
  const auto sure = unlisted.around(address);
  check(!sure || found == sure, "modules make nothing unknown");
  if (!found || start) return;
  const std::size_t plus = found->rfind("+0x");
  check(plus != std::string::npos, "an address inside has an offset", *found);
  std::uint64_t offset = 0;
  const char* const end = found->data() + found->size();
  const auto [stop, error] = std::from_chars(found->data() + plus + 3, end, offset, 16);
  check(error == std::errc{} && stop == end, "an offset is hexadecimal", *found);
  check(offset > 0 && offset < kLongestFunction && offset <= address, "an offset is within a function", *found);
  check(symbols.at(address - offset) == found->substr(0, plus), "an offset counts from the function's start", *found);
}

}  // namespace

extern "C" int fuzz_kallsyms(const std::uint8_t* data, std::size_t size) {
  const std::string_view all = noised::fuzz::text(data, size);
  const std::size_t end = std::min(all.find("\n\n"), all.size());
  const std::string_view text = all.substr(0, end);
  const Kallsyms symbols = Kallsyms::parse(text, all.substr(end));
  const Kallsyms unlisted = Kallsyms::parse(text);
  check(!symbols.empty() || !symbols.around(UINT64_MAX), "an empty table finds nothing");
  for (std::size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size()) + 1) {
    std::uint64_t address = 0;
    std::from_chars(text.data() + at, text.data() + text.size(), address, 16);
    for (const std::uint64_t offset :
         std::array{UINT64_MAX, std::uint64_t{0}, std::uint64_t{1}, kLongestFunction - 1, kLongestFunction}) {
      look_up(symbols, unlisted, address + offset, text);
    }
  }
  return 0;
}
