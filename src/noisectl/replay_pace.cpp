// SPDX-License-Identifier: Apache-2.0
// Recorded time mapped to the clock of here.
#include "noisectl/replay_pace.h"

#include <algorithm>

namespace noised::client {
namespace {

using Seconds = std::chrono::duration<double>;

// No eye sees it, and thousands of detours a second are no thousands of wakeups.
constexpr Seconds kEarly{0.02};
// A recording can hold any time: whoever waits looks again after this.
constexpr Seconds kLongestWait{3600};

}  // namespace

bool ReplayPace::wait_until(std::uint64_t recorded_ns) {
  const Seconds due{static_cast<double>(recorded_ns) * 1e-9 / speed_};
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    if (paused_) {
      changed_.wait(lock);
      continue;
    }
    const Seconds left = due - (Clock::now() - began_);
    if (left <= kEarly) return true;
    changed_.wait_for(lock, std::min(left, kLongestWait));
  }
  return false;
}

void ReplayPace::pause(bool paused) {
  const std::lock_guard lock(mutex_);
  if (paused == paused_) return;
  paused_ = paused;
  if (paused) {
    paused_at_ = Clock::now();
  } else {
    began_ += Clock::now() - paused_at_;
  }
  changed_.notify_all();
}

void ReplayPace::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

double ReplayPace::reached(std::uint64_t recorded_ns) {
  const std::lock_guard lock(mutex_);
  const Seconds passed = (paused_ ? paused_at_ : Clock::now()) - began_;
  return static_cast<double>(recorded_ns) * 1e-9 / std::max(passed.count(), 1e-9);
}

}  // namespace noised::client
