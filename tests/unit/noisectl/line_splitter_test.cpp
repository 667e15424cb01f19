// SPDX-License-Identifier: Apache-2.0
// Lines come out whole however the stream is cut.
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "noisectl/client/line_splitter.h"

using noised::client::LineSplitter;

TEST_CASE("every way to cut a stream gives the same lines", "[noisectl]") {
  const std::string stream = "one\n\ntwo two\nthree\nrest";
  for (std::size_t size = 1; size <= stream.size(); ++size) {
    LineSplitter splitter;
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < stream.size(); at += size)
      CHECK(splitter.feed(std::string_view(stream).substr(at, size), [&](std::string_view line) {
        lines.emplace_back(line);
        return true;
      }));
    CHECK(lines == std::vector<std::string>{"one", "", "two two", "three"});
    CHECK(splitter.rest() == "rest");
  }
}

TEST_CASE("a reader that has enough gets no more", "[noisectl]") {
  LineSplitter splitter;
  int lines = 0;
  CHECK_FALSE(splitter.feed("a\nb\nc\n", [&](std::string_view) { return ++lines < 2; }));
  CHECK(lines == 2);
}
