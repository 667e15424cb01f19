// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM and SIGHUP as a descriptor to poll: no handler, no global flag.
#pragma once

#include <csignal>

namespace noised::client {

/// While it lives, those signals end nothing; they make fd() readable.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Readable once one of the signals came.
  [[nodiscard]] int fd() const { return fd_; }

 private:
  sigset_t before_;
  int fd_;
};

}  // namespace noised::client
