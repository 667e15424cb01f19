// SPDX-License-Identifier: Apache-2.0
// Between the HTTP thread, where root asks for a reload, and the main thread, which does it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include <noised/result.h>

namespace noised {

/// What came of a reload: the keys that wait for the next start ("probe.cpus, probe.policy", or none), or why the old
/// settings stay.
using ReloadOutcome = Result<std::string>;

class ReloadExchange {
 public:
  /// HTTP thread: asks, wakes the main thread by this eventfd (or lets it come by by itself: -1), and waits; nothing if
  /// nobody came within 2 s, or will come.
  std::optional<ReloadOutcome> ask(int wake_descriptor);

  /// Main thread: true if a reload is asked for. One atomic load.
  [[nodiscard]] bool wanted() const { return wanted_.load(std::memory_order_acquire); }
  /// Main thread: the outcome of a reload that began after wanted().
  void answer(const ReloadOutcome& outcome);
  /// Main thread: nobody will answer any more.
  void close();

 private:
  std::atomic<bool> wanted_{false};
  std::mutex mutex_;
  std::condition_variable answered_;
  std::optional<ReloadOutcome> outcome_;
  bool closed_ = false;
};

}  // namespace noised
