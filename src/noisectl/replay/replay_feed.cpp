// SPDX-License-Identifier: Apache-2.0
// Detours wait for their time one by one, samples for their checkpoint's.
#include "noisectl/replay/replay_feed.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

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

Result<std::unique_ptr<ReplayFeed>> ReplayFeed::start(const std::string& path, double speed,
                                                      std::chrono::nanoseconds interval) {
  Result<recording::Player> player = recording::Player::open(path);
  if (!player) return player.error();
  std::unique_ptr<ReplayFeed> feed(new ReplayFeed(std::move(player).value(), speed, interval));
  if (!feed->ready_) return failure("eventfd", "too many open files? see 'ulimit -n'");
  feed->thread_ = std::thread(&ReplayFeed::run, feed.get());
  return feed;
}

ReplayFeed::ReplayFeed(recording::Player player, double speed, std::chrono::nanoseconds interval)
    : player_(std::move(player)), between_ns_(static_cast<double>(interval.count()) * speed), pace_(speed) {
  const recording::Description& description = player_.playback().description();
  sample_.report.host = description.base.status.host;
  sample_.report.kernel = description.base.status.kernel;
  sample_.report.start = description.start;
}

ReplayFeed::~ReplayFeed() {
  pace_.stop();
  if (thread_.joinable()) thread_.join();
}

std::optional<Result<TopSample>> ReplayFeed::take() {
  ready_.clear();
  const std::lock_guard lock(mutex_);
  if (!newest_) return std::nullopt;
  return *std::exchange(newest_, std::nullopt);
}

void ReplayFeed::follow(std::optional<TopKey> source) {
  const std::lock_guard lock(mutex_);
  if (wanted_ == source) return;
  wanted_ = std::move(source);
  chains_.reset();
  if (!wanted_) return;
  chains_.emplace(*wanted_);
  for (const DetourView& detour : kept_) chains_->add(detour);
}

std::optional<TopChainsView> ReplayFeed::view() {
  const std::lock_guard lock(mutex_);
  if (!chains_) return std::nullopt;
  return chains_->view();
}

std::string ReplayFeed::damage() {
  const std::lock_guard lock(mutex_);
  return damage_;
}

// A detour's clock and the checkpoints' are apart by the time at which the recording began, which nobody wrote down: a
// detour after a checkpoint says how late that can have been at most.
std::uint64_t ReplayFeed::position(std::uint64_t ns) {
  if (!placed_) origin_ns_ = std::min(origin_ns_, ns - std::min(ns, checkpoint_ns_));
  placed_ = true;
  return ns - std::min(ns, origin_ns_);
}

void ReplayFeed::detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view details) {
  ++newer_detours_;
  if (pace_.wait_until(position(ledger.detour.end_ns))) keep(to_view(player_.playback(), cpu, ledger, details));
}

// A wait is told long after it: that is no time to wait for.
void ReplayFeed::loss(std::size_t cpu, const account::Loss& loss, const account::DetourLedger& ledger,
                      std::string_view details) {
  ++newer_detours_;
  const bool is_due = loss.kind != account::LossKind::interrupted || pace_.wait_until(position(ledger.detour.end_ns));
  if (is_due) keep(to_view(player_.playback(), cpu, loss, ledger, details));
}

void ReplayFeed::keep(DetourView shown) {
  const std::lock_guard lock(mutex_);
  if (chains_) chains_->add(shown);
  kept_.push_back(std::move(shown));
  if (kept_.size() > kKept) kept_.pop_front();
}

void ReplayFeed::take_sample() {
  checkpoint_ns_ = player_.playback().counts().status.uptime_ns;
  newer_detours_ = 0;
  placed_ = false;
  sample_.report = player_.report();
  sample_.histogram = player_.histograms();
  sample_.status = player_.status();
}

void ReplayFeed::publish(bool ended) {
  published_ns_ = checkpoint_ns_;
  TopReplay replay{checkpoint_ns_, pace_.reached(checkpoint_ns_), ended, player_.damage()};
  if (ended && newer_detours_ != 0) {
    replay.problem += fmt::format("{}{} detours came after its last checkpoint and are not in these figures",
                                  replay.problem.empty() ? "" : "; ", newer_detours_);
  }
  const std::lock_guard lock(mutex_);
  sample_.replay = std::move(replay);
  newest_ = sample_;
  damage_ = player_.damage();
  ready_.set();
}

void ReplayFeed::run() {
  leave_signals_to_main_thread();
  while (player_.step(this)) {
    const bool checkpoint =
        !player_.playback().behind() && player_.playback().counts().status.uptime_ns != checkpoint_ns_;
    if (checkpoint) take_sample();
    if (!pace_.wait_until(checkpoint_ns_)) return;
    const bool first = published_ns_ == 0;
    if (checkpoint && (first || static_cast<double>(checkpoint_ns_ - published_ns_) >= between_ns_)) publish(false);
  }
  publish(true);
}

}  // namespace noised::client
