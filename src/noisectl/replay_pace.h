// SPDX-License-Identifier: Apache-2.0
// When what was recorded is due, for a thread that plays it; another one pauses or stops that.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace noised::client {

class ReplayPace {
 public:
  /// `speed`: times as fast as it happened, more than 0. Time runs from now on.
  explicit ReplayPace(double speed) : speed_(speed) {}

  /// Waits until this time of the recording, from its begin, is at most 20 ms away, and while paused; false if it was
  /// stopped.
  bool wait_until(std::uint64_t recorded_ns);
  void pause(bool paused);
  /// Whoever waits, or will, is told to end.
  void stop();

  /// Times as fast as it happened, so far, if it has played until this time; without pauses.
  [[nodiscard]] double reached(std::uint64_t recorded_ns);

 private:
  using Clock = std::chrono::steady_clock;

  double speed_;
  std::mutex mutex_;  // for all below
  std::condition_variable changed_;
  Clock::time_point began_ = Clock::now();  // later by as much as it was paused
  Clock::time_point paused_at_;
  bool paused_ = false;
  bool stopped_ = false;
};

}  // namespace noised::client
