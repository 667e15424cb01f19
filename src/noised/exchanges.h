// SPDX-License-Identifier: Apache-2.0
// Between the HTTP thread, where root asks for a reload, and the main thread, which does it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "probe/footprint.h"

namespace noised::daemon {

// Between the HTTP thread, where somebody asks for phases of work, and the main thread, which has them run.

/// What somebody wants the probes to run while a recording lasts.
struct PhaseRequest {
  std::uint64_t grain_ns = 0;  ///< 0: nothing but their loop, as soon as no other's phases run
  probe::FootprintChoice footprint;
  std::optional<bool> fifo;  ///< nothing: as the daemon was started
};

class PhaseExchange {
 public:
  /// HTTP thread: asks, wakes the main thread by this eventfd (or lets it come by by itself: -1), and waits; nothing if
  /// there is no answer within 2 s. Only once somebody asks no more does the next.
  std::optional<Status> ask(const PhaseRequest& request, int wake_descriptor);
  /// Any thread: the probes run something else than what the daemon was started with, or are about to. One atomic load.
  [[nodiscard]] bool active() const { return active_.load(std::memory_order_acquire); }

  /// Main thread: what is asked for and was not taken yet.
  std::optional<PhaseRequest> take();
  /// Main thread: whoever asked is still there.
  [[nodiscard]] bool waited_for();
  /// Main thread: what came of it.
  void answer(const Status& outcome);
  void set_active(bool active) { active_.store(active, std::memory_order_release); }
  /// Main thread: nobody will answer any more.
  void close();

 private:
  std::atomic<bool> wanted_{false};
  std::atomic<bool> active_{false};
  std::mutex mutex_;
  std::condition_variable answered_;
  PhaseRequest request_;
  std::optional<Status> outcome_;
  bool waiting_ = false;
  bool closed_ = false;
};

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

}  // namespace noised::daemon
