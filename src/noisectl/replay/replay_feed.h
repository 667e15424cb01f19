// SPDX-License-Identifier: Apache-2.0
// A recording for the live view, played in a thread of its own at the pace at which it happened.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "model/views.h"
#include "noisectl/top/feed.h"
#include "recording/player.h"

namespace noised::client {

// When what was recorded is due, for a thread that plays it; another one pauses or stops that.

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

/// Samples are those of the recording's checkpoints: only there, about once a second, observed time and losses are
/// known, and with them any rate. Chains are of the detours played so far: the last 2,000 when a source is opened, as
/// a daemon keeps, and every one from then on.
class ReplayFeed : public TopFeed, private recording::PlayerVisitor {
 public:
  static constexpr std::size_t kKept = 2'000;

  /// Plays from now on, `speed` times as fast as it happened; a sample at every `interval` of time that passes here.
  static Result<std::unique_ptr<ReplayFeed>> start(const std::string& path, double speed,
                                                   std::chrono::nanoseconds interval);
  /// Ends the thread.
  ~ReplayFeed() override;
  ReplayFeed(const ReplayFeed&) = delete;
  ReplayFeed& operator=(const ReplayFeed&) = delete;

  [[nodiscard]] int fd() const override { return ready_.fd(); }
  std::optional<Result<TopSample>> take() override;
  /// Paused, the recording stands still.
  void pause(bool paused) override { pace_.pause(paused); }
  void follow(std::optional<TopKey> source) override;
  std::optional<TopChainsView> view() override;

  /// Where and why the recording ended too early; empty if it did not, or was not played so far.
  [[nodiscard]] std::string damage();

 private:
  ReplayFeed(recording::Player player, double speed, std::chrono::nanoseconds interval);

  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view details) override;
  void loss(std::size_t cpu, const account::Loss& loss, const account::DetourLedger& ledger,
            std::string_view details) override;
  void keep(DetourView shown);
  void run();
  void take_sample();
  void publish(bool ended);
  std::uint64_t position(std::uint64_t ns);

  // The thread's.
  recording::Player player_;
  double between_ns_;  // of recorded time, from one sample to the next
  TopSample sample_;   // of the last checkpoint
  std::uint64_t checkpoint_ns_ = 0;
  std::uint64_t published_ns_ = 0;
  std::uint64_t newer_detours_ = 0;  // than the last checkpoint
  bool placed_ = false;              // one of them has told when that was
  std::uint64_t origin_ns_ = std::numeric_limits<std::uint64_t>::max();

  ReplayPace pace_;
  Event ready_;
  std::mutex mutex_;  // for all below
  std::optional<TopSample> newest_;
  std::string damage_;
  std::deque<DetourView> kept_;
  std::optional<TopKey> wanted_;
  std::optional<TopChains> chains_;
  std::thread thread_;
};

}  // namespace noised::client
