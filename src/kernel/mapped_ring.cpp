// SPDX-License-Identifier: Apache-2.0
// A record is complete when its size is there, so what was read is cleared before its room is given back.
#include "trace/mapped_ring.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace noised {
namespace {

constexpr std::uint32_t kStep = 16;  // every record begins at a multiple

// As hand_over() takes them; of another size, nothing tells where the next begins.
bool is_size(std::uint32_t size) {
  return size == sizeof(noised_record) || size == sizeof(noised_task_record) || size == sizeof(noised_run_record);
}

template <typename Number>
Number acquire(Number& shared) {
  return std::atomic_ref<Number>(shared).load(std::memory_order_acquire);
}

}  // namespace

std::byte* MappedRing::at(std::uint32_t position) const {
  const std::size_t segment = position / NOISED_SEGMENT_BYTES & (count_ - 1);
  return segments_ + segment * kStride + position % NOISED_SEGMENT_BYTES;
}

void MappedRing::clear(std::uint32_t from, std::uint32_t to) {
  const std::uint32_t bytes = std::min(to - from, count_ * NOISED_SEGMENT_BYTES);
  for (std::uint32_t done = 0; done < bytes; done += kStep) std::memset(at(from + done), 0, kStep);
}

std::size_t MappedRing::drain(std::size_t limit, const RecordSink& sink) {
  const std::uint32_t head = acquire(state_.ring_head);
  std::uint32_t tail = state_.ring_tail;
  std::size_t drained = 0;
  while (tail != head && drained < limit) {
    std::byte* const bytes = at(tail);
    const std::uint32_t size = acquire(reinterpret_cast<noised_record*>(bytes)->size);
    if (size == 0) break;  // begun and not finished: what comes after it waits
    ++drained;
    if (!is_size(size) || size > head - tail) {
      hand_over(bytes, 0, sink);  // a bad record; and no way to find the next
      clear(tail, head);
      tail = head;
      break;
    }
    hand_over(bytes, size, sink);
    std::memset(bytes, 0, size);
    tail += size;
  }
  std::atomic_ref<noised_u32>(state_.ring_tail).store(tail, std::memory_order_release);
  return drained;
}

}  // namespace noised
