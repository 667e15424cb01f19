// SPDX-License-Identifier: Apache-2.0
// A measured CPU without a kernel: the rings that BPF programs and loop write to, read as the pipeline reads them.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "kernel/mapped_ring.h"
#include "probe/measuring_loop.h"

namespace noised::test {

/// The time stamp counter runs at 2.5 GHz, from the same zero as the clock: every even number of ns is exact.
inline std::uint64_t ticks_of(std::uint64_t ns) { return ns / 2 * 5; }

class NodeCpu : public probe::MeasuringLoop {
 public:
  /// `segments`: of its ring of records; a power of two. `detours`: places in the loop's ring; likewise.
  explicit NodeCpu(unsigned cpu, std::uint32_t segments = 2, std::size_t detours = 1U << 12U)
      : own_ring(detours),
        cpu_(cpu),
        segments_(segments),
        memory_(segments * kernel::MappedRing::kStride / sizeof(noised_record)) {
    state.watched = NOISED_WATCH_LOOP;
    state.probe_pid = state.current_pid = 100'000 + cpu;
  }

  [[nodiscard]] unsigned cpu() const override { return cpu_; }
  [[nodiscard]] probe::DetourRing& ring() override { return *read; }
  [[nodiscard]] const probe::LoopProgress& progress() const override { return loop_progress; }
  [[nodiscard]] bool is_away() const override { return false; }
  [[nodiscard]] bool is_aside() const override { return false; }
  [[nodiscard]] bool is_running() const override { return running; }
  [[nodiscard]] std::optional<std::uint64_t> switches() const override { return std::nullopt; }
  [[nodiscard]] std::optional<std::uint64_t> smi_count() const override { return std::nullopt; }

  /// As claim() and put() of bpf/pairing.bpf.h, of one of the three types of records; unless it is to be finished, its
  /// room stays empty. False: counted as lost.
  template <typename Record>
  bool put(const Record& record, std::uint32_t size = sizeof(Record), bool finish = true) {
    const auto left = [&] { return static_cast<std::int32_t>(state.ring_limit - state.ring_head); };
    if (left() < 0) state.ring_limit = state.ring_tail + segments_ * NOISED_SEGMENT_BYTES - NOISED_RING_MARGIN;
    if (left() < 0) {
      ++state.lost_full;
      return false;
    }
    const std::uint32_t at = std::exchange(state.ring_head, state.ring_head + size);
    std::byte* const room = reinterpret_cast<std::byte*>(memory_.data()) +
                            (at / NOISED_SEGMENT_BYTES & (segments_ - 1)) * kernel::MappedRing::kStride +
                            at % NOISED_SEGMENT_BYTES;
    if (!finish) return true;
    std::memcpy(room, &record, size);
    reinterpret_cast<noised_record*>(room)->size = static_cast<noised_u16>(size);
    return true;
  }

  noised_cpu state{};
  bool running = true;
  probe::DetourRing own_ring;
  probe::DetourRing* read = &own_ring;  ///< the ring that the pipeline is given
  probe::LoopProgress loop_progress;

 private:
  unsigned cpu_;
  std::uint32_t segments_;
  std::vector<noised_record> memory_;

 public:
  kernel::MappedRing reader{state, reinterpret_cast<std::byte*>(memory_.data()), segments_};
};

}  // namespace noised::test
