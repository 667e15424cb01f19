// SPDX-License-Identifier: Apache-2.0
// Hand-over of snapshots.
#include "pipeline/snapshot.h"

#include <chrono>

namespace noised {
namespace {

constexpr std::chrono::seconds kPatience{2};

}  // namespace

bool SnapshotExchange::read(const std::function<void(const Snapshot&)>& use) {
  const std::uint64_t ticket = asked_.fetch_add(1, std::memory_order_release) + 1;
  std::unique_lock lock(mutex_);
  if (!answered_changed_.wait_for(lock, kPatience, [&] { return answered_.load() >= ticket; })) return false;
  use(snapshot_);
  return true;
}

void SnapshotExchange::answer(const std::function<void(Snapshot&)>& fill) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const std::uint64_t ticket = asked_.load(std::memory_order_acquire);
  fill(snapshot_);
  answered_.store(ticket);
  answered_changed_.notify_all();
}

}  // namespace noised
