// SPDX-License-Identifier: Apache-2.0
// All that is fuzzed: NAME.cpp has fuzz_NAME.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

// PARSER(name) for each, in order; made by CMake.
#define PARSER(name) extern "C" int fuzz_##name(const std::uint8_t* data, std::size_t size);
#include "parsers.inc"
#undef PARSER

namespace noised::fuzz {

struct Parser {
  const char* name;
  int (*parse)(const std::uint8_t* data, std::size_t size);  ///< always 0; a property that is broken aborts
};

#define PARSER(name) Parser{#name, fuzz_##name},
inline constexpr std::array kParsers{
#include "parsers.inc"
};
#undef PARSER

}  // namespace noised::fuzz
