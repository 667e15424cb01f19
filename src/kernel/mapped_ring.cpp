// SPDX-License-Identifier: Apache-2.0
// A record is complete when its size is there, so what was read is cleared before its room is given back.
#include "kernel/mapped_ring.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernel/awaited.h"

namespace noised::kernel {
namespace {

constexpr std::uint32_t kStep = 16;  // every record begins at a multiple

// As hand_over() takes them; of another size, nothing tells where the next begins.
bool is_size(std::uint32_t size) {
  return size == sizeof(noised_record) || size == sizeof(noised_task_record) || size == sizeof(noised_run_record);
}

// The size of a record; 0 if it is not finished while one looks.
std::uint32_t size_of(std::byte* bytes) {
  auto& record = *reinterpret_cast<noised_record*>(bytes);
  std::uint32_t size = acquire(record.size);
  for (int attempt = 0; size == 0 && attempt < kAttempts; ++attempt) size = acquire(record.size);
  return size;
}

}  // namespace

std::byte* MappedRing::at(std::uint32_t position) const {
  const std::size_t segment = position / NOISED_SEGMENT_BYTES & (count_ - 1);
  return segments_ + segment * kStride + position % NOISED_SEGMENT_BYTES;
}

void MappedRing::clear(std::uint32_t from, std::uint32_t to) {
  const std::uint32_t bytes = std::min(to - from, count_ * NOISED_SEGMENT_BYTES);
  for (std::uint32_t done = 0; done < bytes; done += kStep) {
    // The size of a record that begins in a segment's last bytes lies behind it.
    const bool is_last = (from + done) % NOISED_SEGMENT_BYTES == NOISED_SEGMENT_BYTES - kStep;
    std::memset(at(from + done), 0, is_last ? kStep + NOISED_SEGMENT_SLACK : kStep);
  }
}

void MappedRing::skip(std::uint32_t from, std::uint32_t to, const system::RecordSink& sink) {
  system::hand_over(at(from), 0, sink);  // a bad record; and no way to find the next
  clear(from, to);
}

std::size_t MappedRing::drain(std::size_t limit, const system::RecordSink& sink) {
  const std::uint32_t head = acquire(state_.ring_head);
  std::uint32_t tail = state_.ring_tail;
  std::size_t drained = 0;
  waits_ = false;
  while (tail != head && drained < limit) {
    std::byte* const bytes = at(tail);
    const std::uint32_t size = size_of(bytes);
    if (size == 0) {
      waits_ = true;
      ++unfinished_;
      break;
    }
    ++drained;
    if (!is_size(size) || size > head - tail) {
      skip(tail, head, sink);
      tail = head;
      break;
    }
    system::hand_over(bytes, size, sink);
    std::memset(bytes, 0, size);
    tail += size;
  }
  std::atomic_ref<noised_u32>(state_.ring_tail).store(tail, std::memory_order_release);
  return drained;
}

void MappedRing::give_up_late(std::uint64_t now_ns, const system::RecordSink& sink) {
  const std::uint32_t tail = state_.ring_tail;
  if (late_since_ns_ == 0 || late_at_ != tail) {
    late_at_ = tail;
    late_since_ns_ = now_ns;
  }
  if (now_ns - late_since_ns_ < kPatienceNs) return;
  late_since_ns_ = 0;
  const std::uint32_t head = acquire(state_.ring_head);
  skip(tail, head, sink);
  std::atomic_ref<noised_u32>(state_.ring_tail).store(head, std::memory_order_release);
}

}  // namespace noised::kernel
