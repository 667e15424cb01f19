// SPDX-License-Identifier: Apache-2.0
// Standard output: a reader that leaves is no error, a full disk is.
#include <csignal>
#include <cstdio>
#include <memory>

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>

#include "noisectl/client/output.h"

using namespace noised;

namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

}  // namespace

TEST_CASE("what is written arrives", "[noisectl]") {
  const File file(std::tmpfile());
  REQUIRE(file);
  client::Output output(file.get());
  CHECK(output.write("a line\n"));
  CHECK(output.flush());
  CHECK(output.finish().ok());
  std::rewind(file.get());
  char text[16] = {};
  CHECK(std::string_view(std::fgets(text, sizeof text, file.get())) == "a line\n");
}

TEST_CASE("a pipe without a reader ends the writing quietly", "[noisectl]") {
  auto* const before = std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  close(ends[0]);
  {
    const File file(fdopen(ends[1], "w"));
    client::Output output(file.get());
    output.write("lost\n");
    CHECK_FALSE(output.flush());
    CHECK_FALSE(output.write("more\n"));
    CHECK(output.finish().ok());
  }
  std::signal(SIGPIPE, before);
}

TEST_CASE("a full disk is an error", "[noisectl]") {
  const File file(std::fopen("/dev/full", "w"));
  REQUIRE(file);
  client::Output output(file.get());
  output.write("lost\n");
  const Status done = output.finish();
  REQUIRE_FALSE(done.ok());
  CHECK(done.error().what == "standard output: No space left on device");
  CHECK(done.error().code == ExitCode::failed);
}
