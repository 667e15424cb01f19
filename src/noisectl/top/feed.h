// SPDX-License-Identifier: Apache-2.0
// Where the live view gets what it shows: a daemon (top_screen.cpp), or a recording (replay_feed.h).
#pragma once

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>

#include "base/files.h"
#include "base/result.h"
#include "noisectl/top/chains.h"
#include "noisectl/top/delta.h"

namespace noised::client {

// What the threads of the live view need: an event to wake one up with, and signals left to the main thread.

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

/// For one thread, which draws: no call waits.
class TopFeed {
 public:
  TopFeed() = default;
  TopFeed(const TopFeed&) = delete;
  TopFeed& operator=(const TopFeed&) = delete;
  virtual ~TopFeed() = default;

  /// Readable when there is something to take.
  [[nodiscard]] virtual int fd() const = 0;
  /// The newest sample, or why there is none; nothing if there is no news.
  virtual std::optional<Result<TopSample>> take() = 0;
  /// Paused, there is no news.
  virtual void pause(bool paused) = 0;
  /// Follows the chains of this source from now on, or of none.
  virtual void follow(std::optional<TopKey> source) = 0;
  /// What is known of the source that is followed, if anything.
  virtual std::optional<TopChainsView> view() = 0;
};

}  // namespace noised::client
