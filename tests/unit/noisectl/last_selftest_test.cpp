// SPDX-License-Identifier: Apache-2.0
// What reports tell of the last self-test, also where its record is of another machine, damaged or not there.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>

#include "base/files.h"
#include "noisectl/client/last_selftest.h"
#include "unit/base/temporary_directory.h"
#include "unit/views/examples.h"

using namespace noised;
using namespace noised::client;
using noised::test::TemporaryDirectory;

TEST_CASE("a report tells of the last self-test", "[noisectl]") {
  const TemporaryDirectory directory;
  const Report report = examples::report();
  const std::string path = directory.path("last-selftest.json");
  const auto told = [&](const LastSelftest& last) {
    directory.write("last-selftest.json", to_json(last));
    return last_selftest_text(report, path);
  };
  CHECK(last_selftest_text(report, path) == "no self-test is on record");
  LastSelftest last{"2026-11-27T08:09:10Z", report.kernel, NOISED_VERSION, 13, 0};
  CHECK(told(last) == "self-test passed 2026-11-27 (13 trials)");
  last.failed = 2;
  CHECK(told(last) == "self-test FAILED 2026-11-27 (2 of 13 trials)");
  last.version = "0.0.1";
  CHECK(told(last) == "self-test FAILED 2026-11-27 (2 of 13 trials, with another noised)");
  last.kernel = "2.6.32";
  CHECK(told(last) == "self-test FAILED 2026-11-27 (2 of 13 trials, with another kernel)");
  last.trials = last.failed = 0;
  CHECK(told(last) == "the self-test of 2026-11-27 could test nothing, with another kernel");
  last.time = "\x1b[2J";
  CHECK(told(last).find('\x1b') == std::string::npos);
  for (const char* const damage : {"", "{}", "[1]", "{\"schema\":\"noised.last_selftest/1\",\"time\":7}"}) {
    INFO(damage);
    directory.write("last-selftest.json", damage);
    CHECK(last_selftest_text(report, path) == "the record of the last self-test is damaged");
  }
}

TEST_CASE("a self-test is kept for all to read, through no link, and nowhere else", "[noisectl]") {
  if (::geteuid() != 0) SKIP("only root keeps it");
  const TemporaryDirectory directory;
  const LastSelftest last{"2026-11-27T08:09:10Z", "6.1", "0.1.0", 13, 0};
  const std::string path = directory.path("last-selftest.json");
  CHECK(keep_last_selftest(last, directory.path("none/last-selftest.json")));
  REQUIRE(keep_last_selftest(last, path));
  struct stat about{};
  REQUIRE(::stat(path.c_str(), &about) == 0);
  CHECK((about.st_mode & 0777U) == 0644U);
  CHECK(read_file(path).value() == to_json(last));
  directory.write("precious", "kept");
  REQUIRE(::unlink(path.c_str()) == 0);
  REQUIRE(::symlink(directory.path("precious").c_str(), path.c_str()) == 0);
  CHECK_FALSE(keep_last_selftest(last, path));
  CHECK(read_file(directory.path("precious")).value() == "kept");
}
