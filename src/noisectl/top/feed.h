// SPDX-License-Identifier: Apache-2.0
// What the threads of the live view need: an event to wake one up with, and signals left to the main thread.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>

#include "base/descriptor.h"

namespace noised::client {

/// A descriptor that is readable from set() until clear().
class Event {
 public:
  explicit operator bool() const { return static_cast<bool>(fd_); }
  [[nodiscard]] int fd() const { return fd_.get(); }
  void set() const { (void)eventfd_write(fd_.get(), 1); }
  void clear() const {
    eventfd_t taken = 0;
    (void)eventfd_read(fd_.get(), &taken);
  }
  /// True if it is set, now or before the time is over.
  [[nodiscard]] bool wait(std::chrono::milliseconds time) const {
    pollfd wake{fd_.get(), POLLIN, 0};
    return poll(&wake, 1, static_cast<int>(std::clamp<std::int64_t>(time.count(), 0, 60'000))) > 0;
  }
  /// Returns when it is set.
  void wait() const {
    pollfd wake{fd_.get(), POLLIN, 0};
    while (poll(&wake, 1, -1) <= 0) {
    }
  }

 private:
  Descriptor fd_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

/// For a thread's start: it takes no signals, so that SIGWINCH wakes the main thread, which draws.
inline void leave_signals_to_main_thread() {
  sigset_t all;
  sigfillset(&all);
  (void)pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace noised::client
