// SPDX-License-Identifier: Apache-2.0
// Hand-over of a reload.
#include "service/reload_exchange.h"

#include <unistd.h>

#include <chrono>
#include <cstdint>

namespace noised {
namespace {

constexpr std::chrono::seconds kPatience{2};

}  // namespace

std::optional<ReloadOutcome> ReloadExchange::ask(int wake_descriptor) {
  std::unique_lock lock(mutex_);
  outcome_.reset();
  wanted_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  (void)!write(wake_descriptor, &one, sizeof(one));
  (void)answered_.wait_for(lock, kPatience, [this] { return closed_ || outcome_.has_value(); });
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

}  // namespace noised
