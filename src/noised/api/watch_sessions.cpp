// SPDX-License-Identifier: Apache-2.0
// A state for each group, under a lock that is held for moments.
#include "noised/api/watch_sessions.h"

namespace noised::daemon {

std::optional<std::size_t> WatchSessions::open(bool any, bool each_loss) {
  const std::lock_guard lock(mutex_);
  for (std::size_t step = 0; step < pipeline::TaskPipeline::kGroups - 1; ++step) {
    const std::size_t group = 1 + (last_ + step) % (pipeline::TaskPipeline::kGroups - 1);
    if (sessions_[group].state != State::free) continue;
    sessions_[group] = Session{.state = State::opening,
                               .any = any,
                               .each_loss = each_loss,
                               .asked = false,
                               .taken = false,
                               .news = false,
                               .report = std::nullopt,
                               .losses = {}};
    last_ = group;
    wanted_.store(true, std::memory_order_release);
    return group;
  }
  return std::nullopt;
}

bool WatchSessions::is_open(std::size_t group) {
  const std::lock_guard lock(mutex_);
  return sessions_[group].state == State::open;
}

void WatchSessions::ask(std::size_t group) {
  const std::lock_guard lock(mutex_);
  sessions_[group].asked = true;
  asked_.store(true, std::memory_order_relaxed);
  wanted_.store(true, std::memory_order_release);
}

std::optional<WatchReport> WatchSessions::take(std::size_t group) {
  const std::lock_guard lock(mutex_);
  return std::exchange(sessions_[group].report, std::nullopt);
}

bool WatchSessions::take_losses(std::size_t group, account::LossBatch& batch) {
  const std::lock_guard lock(mutex_);
  Session& session = sessions_[group];
  if (!session.news) return false;
  session.news = false;
  batch.log.clear();
  std::swap(batch, session.losses);
  return true;
}

void WatchSessions::close(std::size_t group) {
  const std::lock_guard lock(mutex_);
  sessions_[group].state = State::closing;
  wanted_.store(true, std::memory_order_release);
}

void WatchSessions::step(std::size_t group, pipeline::TaskPipeline& pipeline, std::uint64_t now_ns) {
  Session& session = sessions_[group];
  if (session.state == State::opening) {
    pipeline.begin_account(group, session.any, session.each_loss, now_ns);
    session.state = State::open;
  }
  if (session.state == State::closing) {
    pipeline.end_account(group);
    session = Session{};
  }
  if (session.state == State::open && session.each_loss) {
    pipeline.take_losses(group, session.losses);
    session.news = true;
    wanted_.store(true, std::memory_order_release);  // with the next drain again
  }
  if (session.asked) wanted_.store(true, std::memory_order_release);  // likewise: it came while this one went on
  if (!std::exchange(session.taken, false)) return;
  pipeline.report(group, now_ns, session.report.emplace());
}

bool WatchSessions::take_asked() {
  if (!asked_.load(std::memory_order_relaxed)) return false;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;  // before the next drain
  asked_.store(false, std::memory_order_relaxed);
  bool any = false;
  for (Session& session : sessions_) {
    if (session.state != State::open || !session.asked) continue;
    session.asked = false;
    session.taken = any = true;
  }
  return any;
}

void WatchSessions::step(pipeline::TaskPipeline& pipeline, std::uint64_t now_ns) {
  if (!wanted_.load(std::memory_order_acquire)) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;  // with the next drain
  wanted_.store(false, std::memory_order_release);
  for (std::size_t group = 1; group < sessions_.size(); ++group) step(group, pipeline, now_ns);
}

}  // namespace noised::daemon
