// SPDX-License-Identifier: Apache-2.0
// What tests ask of texts.
#pragma once

#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <string>

namespace noised::test {

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The text with what must be in it replaced, once.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  INFO(from);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace noised::test
