// SPDX-License-Identifier: Apache-2.0
// fuzzer PARSER [what libFuzzer takes...]: one program for all parsers, since linking one takes as long as compiling
// it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "parsers.h"

using noised::fuzz::kParsers;
using noised::fuzz::Parser;

namespace {

const Parser* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const std::string_view name = *argc > 1 ? (*argv)[1] : "";
  const auto* const found = std::ranges::find(kParsers, name, &Parser::name);
  if (found == kParsers.end()) {
    std::fputs("usage: fuzzer PARSER [OPTION...] [DIRECTORY...]; parsers are", stderr);
    for (const Parser& parser : kParsers) std::fprintf(stderr, " %s", parser.name);
    std::fputs("\n", stderr);
    std::exit(2);
  }
  chosen = &*found;
  std::copy(*argv + 2, *argv + *argc, *argv + 1);
  --*argc;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { return chosen->parse(data, size); }
