// SPDX-License-Identifier: Apache-2.0
// A daemon for one run of noisectl, where none is there that watches tasks.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

#include "base/files.h"

namespace noised::client {

class OwnDaemon {
 public:
  /// Starts noised, which watches the tasks of these CPUs; `confined`: and runs on no others. Waits until it answers.
  /// Fails where it does not, or once `stop_fd` is readable. Only root can; to be called while there is one thread.
  static Result<std::unique_ptr<OwnDaemon>> start(const std::vector<unsigned>& cpus, bool confined, int stop_fd);
  OwnDaemon(const OwnDaemon&) = delete;
  OwnDaemon& operator=(const OwnDaemon&) = delete;
  /// Ends it. It ends by itself, too, where this process is killed.
  ~OwnDaemon();

  [[nodiscard]] const std::string& socket() const { return socket_; }

 private:
  explicit OwnDaemon(std::string socket) : socket_(std::move(socket)) {}
  Status run(const std::vector<unsigned>& cpus, bool confined);
  Status await_answer(int stop_fd);

  std::string socket_;
  pid_t pid_ = -1;
  Descriptor ended_;  // a pidfd
};

/// A daemon where `socket`'s cannot watch for root: null where it can, or where there is no right to start one, and the
/// daemon itself says what is wrong. Beside loops, the CPUs that they do not have are watched.
Result<std::unique_ptr<OwnDaemon>> daemon_where_none_watches(const std::string& socket, int stop_fd);

}  // namespace noised::client
