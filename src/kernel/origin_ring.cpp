// SPDX-License-Identifier: Apache-2.0
// A slot is read where its lap is that of its place: nothing is written but the tail, so the programs' lines stay
// theirs.
#include "kernel/origin_ring.h"

#include <algorithm>
#include <atomic>

#include "kernel/awaited.h"

namespace noised::kernel {
namespace {

bool is_finished(noised_origin& slot, noised_u16 lap) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (acquire(slot.lap) == lap) return true;
  }
  return false;
}

bool is_later(const OriginRing* a, const OriginRing* b) { return a->next()->time_ns > b->next()->time_ns; }

}  // namespace

void OriginRing::look() {
  head_ = acquire(state_.origin_head);
  fullness_ = static_cast<double>(head_ - tail_) / static_cast<double>(1U << bits_);
  find();
}

void OriginRing::take() {
  ++tail_;
  find();
}

void OriginRing::find() {
  noised_origin* const slot = slots_ + (tail_ & ((1U << bits_) - 1));
  next_ = tail_ != head_ && is_finished(*slot, NOISED_ORIGIN_LAP(tail_ >> bits_)) ? slot : nullptr;
}

bool OriginRing::give_back() {
  if (state_.origin_tail != tail_)
    std::atomic_ref<noised_u32>(state_.origin_tail).store(tail_, std::memory_order_release);
  return tail_ == head_;
}

// One CPU's after another's would do for the matching, but it puts each in its place from the young end: with many of
// them that is quadratic.
bool OriginRings::drain(const system::OriginSink& sink) {
  fullness_ = 0;
  heap_.clear();
  for (OriginRing& ring : rings_) {
    ring.look();
    fullness_ = std::max(fullness_, ring.fullness());
    if (ring.next() != nullptr) heap_.push_back(&ring);
  }
  std::make_heap(heap_.begin(), heap_.end(), is_later);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), is_later);
    OriginRing& oldest = *heap_.back();
    system::hand_over_origin(oldest.next(), sizeof(noised_origin), sink);
    oldest.take();
    if (oldest.next() != nullptr) {
      std::push_heap(heap_.begin(), heap_.end(), is_later);
    } else {
      heap_.pop_back();
    }
  }
  bool complete = true;
  for (OriginRing& ring : rings_) complete &= ring.give_back();
  return complete;
}

}  // namespace noised::kernel
