// SPDX-License-Identifier: Apache-2.0
// User input must not break the promise that an error is one line.
#include "base/quote.h"

#include <system_error>

namespace noised {

namespace {
constexpr std::size_t kLongest = 100;
}

std::string on_one_line(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return out;
}

std::string in_quotes(std::string_view text) {
  return "'" + on_one_line(text.substr(0, kLongest)) + (text.size() > kLongest ? "...'" : "'");
}

std::string errno_text(int error) { return std::generic_category().message(error); }

}  // namespace noised
