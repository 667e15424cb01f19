// SPDX-License-Identifier: Apache-2.0
// A command that exists before it runs: its pid can be watched from its first instruction on.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include "base/result.h"

#include "base/files.h"

namespace noised::client {

/// How a process ended, as a shell tells it.
struct ProcessEnd {
  int code = 0;    ///< its own, or 128 + signal
  int signal = 0;  ///< that killed it, or 0
};

class WatchedProcess {
 public:
  /// A child that waits to be released. It gets the descriptors and CPUs that the caller has now, and this set of
  /// blocked signals. To be called while there is one thread.
  static Result<WatchedProcess> start(const std::vector<std::string>& words, const sigset_t& blocked);
  WatchedProcess(WatchedProcess&& other) noexcept;
  WatchedProcess& operator=(WatchedProcess&& other) = delete;
  WatchedProcess(const WatchedProcess&) = delete;
  WatchedProcess& operator=(const WatchedProcess&) = delete;
  /// One that was not released ends without having run; one that was is left to itself.
  ~WatchedProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Readable once it has ended.
  [[nodiscard]] int fd() const { return ended_.get(); }

  /// Lets it run the command. An error has the exit code that a shell gives: 127 for not found, 126 for not executable.
  Status release();
  void signal(int number) const;
  /// Waits for its end, once.
  ProcessEnd wait();

 private:
  WatchedProcess(pid_t pid, std::string name, Descriptor socket, Descriptor ended);

  pid_t pid_;
  std::string name_;
  Descriptor socket_;  // one byte there: run; an errno back: could not
  Descriptor ended_;   // a pidfd
};

}  // namespace noised::client
