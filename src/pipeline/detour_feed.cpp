// SPDX-License-Identifier: Apache-2.0
// Keeping and handing out recent detours.
#include "pipeline/detour_feed.h"

#include <algorithm>

namespace noised {

DetourFeed::DetourFeed(std::size_t a_drain) : staged_(a_drain), kept_(2 * a_drain), position_of_(2 * a_drain, 0) {}

FeedDetour& DetourFeed::stage() {
  FeedDetour& slot = staged_[staged_next_];
  staged_next_ = (staged_next_ + 1) % staged_.size();
  ++staged_count_;
  return slot;
}

void DetourFeed::commit() {
  if (staged_count_ == 0) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const std::uint64_t held = std::min<std::uint64_t>(staged_count_, staged_.size());
  end_ += staged_count_ - held;  // positions of the detours that staging had no room for stay empty
  for (std::uint64_t i = held; i != 0; --i, ++end_) {
    kept_[end_ % kept_.size()] = staged_[(staged_next_ + staged_.size() - i) % staged_.size()];
    position_of_[end_ % kept_.size()] = end_ + 1;
  }
  staged_count_ = 0;
}

DetourFeed::Batch DetourFeed::read(std::uint64_t from, std::size_t limit) {
  const std::lock_guard lock(mutex_);
  Batch batch;
  const std::uint64_t oldest = end_ > kept_.size() ? end_ - kept_.size() : 0;
  if (from < oldest) {
    batch.lost = from == 0 ? 0 : oldest - from;
    from = oldest;
  }
  for (; from < end_ && batch.detours.size() < limit; ++from) {
    if (position_of_[from % kept_.size()] == from + 1) {
      batch.detours.push_back(kept_[from % kept_.size()]);
    } else {
      ++batch.lost;
    }
  }
  batch.next = from;
  return batch;
}

std::uint64_t DetourFeed::end() {
  const std::lock_guard lock(mutex_);
  return end_;
}

}  // namespace noised
