// SPDX-License-Identifier: Apache-2.0
// corpus_replay CORPUS: each parser, with each input that is kept for its fuzzer, by any compiler and without
// libFuzzer.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <unistd.h>

#include "parsers.h"

using noised::fuzz::kParsers;
using noised::fuzz::Parser;

namespace {

namespace fs = std::filesystem;

std::array<char, 4096> current{};

// A property that is broken aborts: by whose input, the line says.
void say_which(int number) {
  constexpr const char* kWhat = "corpus_replay: broken by ";
  (void)!::write(STDERR_FILENO, kWhat, std::strlen(kWhat));
  (void)!::write(STDERR_FILENO, current.data(), std::strlen(current.data()));
  (void)!::write(STDERR_FILENO, "\n", 1);
  (void)std::signal(number, SIG_DFL);
  (void)std::raise(number);
}

std::vector<fs::path> inputs_of(const fs::path& directory) {
  std::vector<fs::path> inputs;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(directory, error)) inputs.push_back(file.path());
  std::ranges::sort(inputs);
  return inputs;
}

// Like libFuzzer's input: of exactly its size, so that a sanitizer sees a read beyond its end.
void replay(const Parser& parser, const fs::path& input) {
  std::ifstream file(input, std::ios::binary);
  const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  std::snprintf(current.data(), current.size(), "%s", input.c_str());
  (void)parser.parse(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: corpus_replay CORPUS\n", stderr);
    return 2;
  }
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE}) (void)std::signal(number, say_which);
  std::size_t total = 0;
  for (const Parser& parser : kParsers) {
    const std::vector<fs::path> inputs = inputs_of(fs::path(argv[1]) / parser.name);
    if (inputs.empty()) {
      std::fprintf(stderr, "corpus_replay: no inputs for %s in %s\n", parser.name, argv[1]);
      return 1;
    }
    for (const fs::path& input : inputs) replay(parser, input);
    total += inputs.size();
  }
  std::printf("%zu inputs, %zu parsers: every property holds\n", total, kParsers.size());
  return 0;
}
