// SPDX-License-Identifier: Apache-2.0
// The client's line splitter: however a stream is cut, and whenever its reader stops, the lines are the same.
#include "noisectl/client/line_splitter.h"

#include <vector>

#include "fuzz.h"
#include "input.h"

using noised::client::LineSplitter;
using noised::fuzz::check;

namespace {

// The lines of a whole text, and what follows the last newline, by the obvious way.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == '\n') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace

extern "C" int fuzz_line_splitter(const std::uint8_t* data, std::size_t size) {
  noised::fuzz::Input input(data, size);
  const std::size_t wanted = 1 + input.take<std::uint8_t>() % 64;
  LineSplitter splitter;
  std::string stream;
  std::vector<std::string> lines;
  bool more = true;
  while (more && !input.over()) {
    std::string piece(input.take<std::uint8_t>(), '\0');
    input.take(piece.data(), piece.size());
    stream += piece;
    more = splitter.feed(piece, [&](std::string_view line) {
      lines.emplace_back(line);
      return lines.size() < wanted;
    });
  }
  std::vector<std::string> expected = split(stream);
  if (more) {
    check(splitter.rest() == expected.back(), "the rest is what follows the last newline", splitter.rest());
    expected.pop_back();
  } else {
    check(lines.size() == wanted, "the splitter stops when told to");
    expected.resize(wanted);
  }
  check(lines == expected, "the lines do not depend on the cuts", stream);
  return 0;
}
