// SPDX-License-Identifier: Apache-2.0
// The client's line splitter: however a stream is cut, and whenever its reader stops, the lines are the same.
#include "noisectl/line_splitter.h"

#include <vector>

#include <fuzzer/FuzzedDataProvider.h>

#include "fuzz.h"

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

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  const std::size_t wanted = input.ConsumeIntegralInRange<std::size_t>(1, 64);
  LineSplitter splitter;
  std::string stream;
  std::vector<std::string> lines;
  bool more = true;
  while (more && input.remaining_bytes() > 0) {
    const std::string piece = input.ConsumeRandomLengthString();
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
