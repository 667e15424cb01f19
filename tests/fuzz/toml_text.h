// SPDX-License-Identifier: Apache-2.0
// What holds for files in TOML alike: a text written into one, and the line in an error.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "fuzz.h"

namespace noised::fuzz {

/// The text as TOML has it.
inline std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (is_one_line({&c, 1})) {
      out += c;
    } else {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    }
  }
  return out + '"';
}

/// An error begins with the file and a line.
inline void check_place(const Error& error, std::string_view file) {
  const std::string prefix = std::string(file) + ":";
  check(error.what.starts_with(prefix), "the error names the file", error.what);
  const std::size_t end = error.what.find_first_not_of("0123456789", prefix.size());
  check(end != std::string::npos && end > prefix.size() && error.what.substr(end).starts_with(": "),
        "the error names the line", error.what);
}

}  // namespace noised::fuzz
