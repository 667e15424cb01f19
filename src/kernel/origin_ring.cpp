// SPDX-License-Identifier: Apache-2.0
// A slot is read where its lap is that of its place: nothing is written but the tail, so the programs' lines stay
// theirs.
#include "kernel/origin_ring.h"

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

}  // namespace

bool OriginRing::drain(const system::OriginSink& sink) {
  const std::uint32_t head = acquire(state_.origin_head);
  std::uint32_t tail = state_.origin_tail;
  taken_ = head - tail;
  while (tail != head) {
    noised_origin& slot = slots_[tail & ((1U << bits_) - 1)];
    if (!is_finished(slot, NOISED_ORIGIN_LAP(tail >> bits_))) break;
    system::hand_over_origin(&slot, sizeof(slot), sink);
    ++tail;
  }
  std::atomic_ref<noised_u32>(state_.origin_tail).store(tail, std::memory_order_release);
  return tail == head;
}

}  // namespace noised::kernel
