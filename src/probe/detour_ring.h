// SPDX-License-Identifier: Apache-2.0
// The single-producer single-consumer ring from the loop to the pipeline.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace noised::probe {

/// What a gap was: the loop's to know, all but the first are not observed.
enum class GapKind : std::uint8_t {
  detour,
  moved,   ///< the loop was not on its CPU
  rested,  ///< the loop slept, as its duty cycle says, or went over to phases or back
  sample,  ///< no gap: at start_ticks, end_ticks iterations after the sample before it (0: the first)
};

/// One gap between two consecutive readings of the time stamp counter, in ticks; or a sample.
struct TickDetour {
  std::uint64_t start_ticks = 0;
  std::uint64_t end_ticks = 0;
  GapKind kind = GapKind::detour;
};

/// The two ends share no cache line. The producer reads the consumer's position only when the ring looks full, so a
/// store touches one line of records and one of positions (about 5 ns when they are in the cache).
class DetourRing {
 public:
  /// `capacity` is a power of two. All memory is touched here.
  explicit DetourRing(std::size_t capacity) : records_(capacity), mask_(capacity - 1) {}
  DetourRing(const DetourRing&) = delete;
  DetourRing& operator=(const DetourRing&) = delete;

  /// Producer: stores a detour, or counts it as lost when the ring is full; a sample that is refused is no loss of a
  /// detour. False where it was refused.
  bool push(TickDetour detour) {
    const std::uint64_t at = produced_.load(std::memory_order_relaxed);
    if (at - consumed_seen_ > mask_) {
      consumed_seen_ = consumed_.load(std::memory_order_acquire);
      if (at - consumed_seen_ > mask_) {
        auto& refused = detour.kind == GapKind::sample ? lost_samples_ : lost_;
        refused.store(refused.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return false;
      }
    }
    records_[at & mask_] = detour;
    produced_.store(at + 1, std::memory_order_release);
    return true;
  }

  /// Consumer: appends every stored detour to `out`, oldest first, as far as its capacity allows without allocating;
  /// asserts that it allows one at least. Who takes nothing of a ring that is not empty never will.
  void pop_all(std::vector<TickDetour>& out) {
    const std::uint64_t end = produced_.load(std::memory_order_acquire);
    std::uint64_t at = consumed_.load(std::memory_order_relaxed);
    assert(at == end || out.size() < out.capacity());
    while (at != end && out.size() < out.capacity()) out.push_back(records_[at++ & mask_]);
    consumed_.store(at, std::memory_order_release);
  }

  /// Detours refused so far because the ring was full.
  [[nodiscard]] std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
  /// Samples refused so far: the series has as many holes at most.
  [[nodiscard]] std::uint64_t lost_samples() const { return lost_samples_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t capacity() const { return records_.size(); }

 private:
  std::vector<TickDetour> records_;
  std::uint64_t mask_;
  alignas(64) std::atomic<std::uint64_t> produced_{0};
  std::atomic<std::uint64_t> lost_{0};
  std::atomic<std::uint64_t> lost_samples_{0};
  std::uint64_t consumed_seen_ = 0;  // the producer's copy of consumed_
  alignas(64) std::atomic<std::uint64_t> consumed_{0};
};

}  // namespace noised::probe
