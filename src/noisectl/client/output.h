// SPDX-License-Identifier: Apache-2.0
// Standard output, whose reader may go away at any time.
#pragma once

#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/clocks.h"
#include "base/result.h"

namespace noised::client {

// Shows on a terminal how far something long is.

class Progress {
 public:
  /// `doing`: "replaying".
  explicit Progress(std::string doing) : doing_(std::move(doing)) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
  }

  /// Shows the share that is done, from 0 to 1, unless it is not yet time.
  void show(double share) {
    if (!terminal_ || monotonic_ns() - shown_ns_ < kBetweenNs) return;
    shown_ns_ = monotonic_ns();
    shown_ = true;
    std::fputs(fmt::format("\r{}: {:.0f}%", doing_, 100 * share).c_str(), stderr);
  }

 private:
  static constexpr std::uint64_t kBetweenNs = 500'000'000;

  std::string doing_;
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::uint64_t shown_ns_ = monotonic_ns();
  bool shown_ = false;
};

// SIGINT, SIGTERM and SIGHUP as a descriptor to poll: no handler, no global flag.

/// While it lives, those signals end nothing; they make fd() readable.
class StopSignals {
 public:
  explicit StopSignals(std::initializer_list<int> signals = {SIGINT, SIGTERM, SIGHUP});
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Readable once one of the signals came.
  [[nodiscard]] int fd() const { return fd_; }

  /// Takes one that came, so that fd() tells of the next; 0: none is there.
  [[nodiscard]] int take() const;

  /// The signals that were blocked before: for a child that is to have them as they were.
  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t before_;
  int fd_;
};

/// How many characters a line of this terminal has; SIZE_MAX where it is none.
std::size_t columns_of(std::FILE* file);

class Output {
 public:
  /// Writes to `file`, which stays the caller's. SIGPIPE must be ignored.
  explicit Output(std::FILE* file) : file_(file) {}

  /// Writes text; false if writing no longer makes sense.
  bool write(std::string_view text);
  /// Hands what was written to the reader; false if writing no longer makes sense.
  bool flush();
  /// Flushes. A reader that went away (`| head`) is no error, a full disk is.
  [[nodiscard]] Status finish();

 private:
  bool check(bool done);

  std::FILE* file_;
  int error_ = 0;
};

}  // namespace noised::client
