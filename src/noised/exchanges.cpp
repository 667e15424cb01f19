// SPDX-License-Identifier: Apache-2.0
// Hand-over of a reload.
#include "noised/exchanges.h"

#include <unistd.h>

#include <chrono>
#include <cstdint>

namespace noised::daemon {
namespace {

// A footprint of 1 GiB takes half of it.
constexpr std::chrono::seconds kPhasePatience{2};

}  // namespace

std::optional<Status> PhaseExchange::ask(const PhaseRequest& request, int wake_descriptor) {
  std::unique_lock lock(mutex_);
  outcome_.reset();
  request_ = request;
  waiting_ = true;
  wanted_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  (void)!write(wake_descriptor, &one, sizeof(one));
  (void)answered_.wait_for(lock, kPhasePatience, [this] { return closed_ || outcome_.has_value(); });
  wanted_.store(false, std::memory_order_relaxed);
  waiting_ = false;
  return outcome_;
}

std::optional<PhaseRequest> PhaseExchange::take() {
  if (!wanted_.load(std::memory_order_acquire)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (!wanted_.exchange(false)) return std::nullopt;
  return request_;
}

bool PhaseExchange::waited_for() {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

void PhaseExchange::answer(const Status& outcome) {
  const std::lock_guard lock(mutex_);
  if (!waiting_) return;
  outcome_ = outcome;
  answered_.notify_all();
}

void PhaseExchange::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  answered_.notify_all();
}

namespace {

constexpr std::chrono::seconds kReloadPatience{2};

}  // namespace

std::optional<ReloadOutcome> ReloadExchange::ask(int wake_descriptor) {
  std::unique_lock lock(mutex_);
  outcome_.reset();
  wanted_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  (void)!write(wake_descriptor, &one, sizeof(one));
  (void)answered_.wait_for(lock, kReloadPatience, [this] { return closed_ || outcome_.has_value(); });
  wanted_.store(false, std::memory_order_relaxed);  // whoever gave up does not want it later
  return outcome_;
}

void ReloadExchange::answer(const ReloadOutcome& outcome) {
  const std::lock_guard lock(mutex_);
  if (!wanted_.load(std::memory_order_relaxed)) return;
  wanted_.store(false, std::memory_order_relaxed);
  outcome_ = outcome;
  answered_.notify_all();
}

void ReloadExchange::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  answered_.notify_all();
}

}  // namespace noised::daemon
