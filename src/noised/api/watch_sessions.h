// SPDX-License-Identifier: Apache-2.0
// Between the HTTP thread, where somebody watches tasks, and the main thread, which counts what they lose.
#pragma once

#include "model/watch.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "pipeline/task_pipeline.h"

namespace noised::daemon {

/// A session is a group of tasks with an account of its own. Neither thread ever waits for the other.
class WatchSessions {
 public:
  /// HTTP thread: a new session, of every task or of those put into its group; nothing if there are too many.
  /// `each_loss`: what they lose is to be told one by one, too.
  std::optional<std::size_t> open(bool any, bool each_loss);
  /// HTTP thread: true once what happens is counted.
  [[nodiscard]] bool is_open(std::size_t group);
  /// HTTP thread: wants a report of everything up to a drain that begins after this.
  void ask(std::size_t group);
  /// HTTP thread: the report asked for, once it is there.
  std::optional<WatchReport> take(std::size_t group);
  /// HTTP thread: the losses since the last time, if something is new.
  bool take_losses(std::size_t group, account::LossBatch& batch);
  /// HTTP thread: ends the session. No task may be in its group any more.
  void close(std::size_t group);

  /// Main thread: something is asked that the next drain answers, or somebody takes each loss. One atomic load.
  [[nodiscard]] bool wanted() const { return wanted_.load(std::memory_order_relaxed); }
  /// Main thread, before a drain: true if a report is asked for that this drain is to answer. One atomic load unless
  /// one is. Who asks while it goes on is answered by the next: he would not be told what has just come.
  bool take_asked();
  /// Main thread, after that drain: does what is asked. One atomic load unless something is.
  void step(pipeline::TaskPipeline& pipeline, std::uint64_t now_ns);

 private:
  enum class State : std::uint8_t { free, opening, open, closing };
  struct Session {
    State state = State::free;
    bool any = false;
    bool each_loss = false;
    bool asked = false;
    bool taken = false;  // asked before the drain that goes on
    bool news = false;   // in `losses`
    std::optional<WatchReport> report;
    account::LossBatch losses;
  };
  void step(std::size_t group, pipeline::TaskPipeline& pipeline, std::uint64_t now_ns);

  std::atomic<bool> wanted_{false};
  std::atomic<bool> asked_{false};
  std::mutex mutex_;
  std::array<Session, pipeline::TaskPipeline::kGroups> sessions_;  // by group; the first is none
  std::size_t last_ = 0;  // opened; the next is another one, so that old groups fade
};

}  // namespace noised::daemon
