// SPDX-License-Identifier: Apache-2.0
// The log: one line per message, filtered by level, with the journal's priorities only for the journal.
#include <catch2/catch_test_macros.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "base/files.h"
#include "noised/log.h"

namespace noised {

using namespace noised::daemon;

namespace {

// Collects what is written to a pipe; 64 KiB fit before a writer would block.
class Pipe {
 public:
  Pipe() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0);
    read_.reset(ends[0]);
    write_.reset(ends[1]);
  }
  [[nodiscard]] int descriptor() const { return write_.get(); }
  [[nodiscard]] std::string text() const {
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(read_.get(), buffer.data(), buffer.size());
    return got <= 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(got));
  }

 private:
  Descriptor read_;
  Descriptor write_;
};

// Sets or unsets a variable, and puts it back.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { before_.empty() ? ::unsetenv(name_) : ::setenv(name_, before_.c_str(), 1); }

 private:
  const char* name_;
  std::string before_;
};

}  // namespace

TEST_CASE("messages below the level are not written") {
  const Environment no_journal("JOURNAL_STREAM", nullptr);
  const Pipe pipe;
  const Log log(LogLevel::warning, pipe.descriptor());
  log.debug("a");
  log.info("b");
  CHECK(pipe.text().empty());
  log.warning("lost {} of {}", 3, "x");
  log.error("d");
  CHECK(pipe.text() == "noised: lost 3 of x\nnoised: d\n");
}

TEST_CASE("for the journal, each line carries its priority") {
  const Environment journal("JOURNAL_STREAM", "8:1234");
  const Pipe pipe;
  const Log log(LogLevel::debug, pipe.descriptor());
  log.debug("a");
  log.info("b");
  log.warning("c");
  log.error("d");
  CHECK(pipe.text() == "<7>noised: a\n<6>noised: b\n<4>noised: c\n<3>noised: d\n");
}

TEST_CASE("a message is one line whatever it holds") {
  const Environment no_journal("JOURNAL_STREAM", nullptr);
  const Pipe pipe;
  const Log log(LogLevel::info, pipe.descriptor());
  log.info("{}", "one\ntwo\n\n");
  CHECK(pipe.text() == "noised: one two\n");
  log.info("{}", std::string(2000, 'x'));
  CHECK(pipe.text() == "noised: " + std::string(2000, 'x') + "\n");
}

TEST_CASE("level names are those of the configuration") {
  CHECK(parse_log_level("debug") == LogLevel::debug);
  CHECK(parse_log_level("error") == LogLevel::error);
  CHECK_FALSE(parse_log_level("Error"));
  CHECK_FALSE(parse_log_level(""));
}

}  // namespace noised
