// SPDX-License-Identifier: Apache-2.0
// What the fuzzers share: a property is checked in every build, and stops the fuzzer with what was seen.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/result.h"

namespace noised::fuzz {

/// The input as text; it has no terminating NUL, so that the sanitizer sees a read beyond its end.
inline std::string_view text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Ends the process unless the property holds, showing the value that broke it.
inline void check(bool holds, const char* property, std::string_view seen = {}) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\nseen: %.*s\n", property, static_cast<int>(seen.size()), seen.data());
  std::abort();
}

/// True if nothing in the text could end the line or drive a terminal.
inline bool is_one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

/// An error says what, says what to do, fits one line, and has the expected exit code.
inline void check_error(const Error& error, ExitCode code) {
  check(error.code == code, "the error has its exit code", error.line());
  check(!error.what.empty() && !error.remedy.empty(), "the error has a remedy", error.line());
  check(is_one_line(error.line()), "the error is one line", error.line());
}

}  // namespace noised::fuzz
