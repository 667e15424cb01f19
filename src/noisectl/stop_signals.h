// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM and SIGHUP as a descriptor to poll: no handler, no global flag.
#pragma once

#include <csignal>
#include <initializer_list>

namespace noised::client {

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

}  // namespace noised::client
