// SPDX-License-Identifier: Apache-2.0
// Shows on a terminal how far something long is.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "base/monotonic.h"

namespace noised::client {

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

}  // namespace noised::client
