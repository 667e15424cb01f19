// SPDX-License-Identifier: Apache-2.0
// A stream of records and detours as a busy CPU makes them: nested, in the order in which intervals end.
#pragma once

#include <noised/abi.h>
#include "model/types.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace noised::bench {

struct Stream {
  std::vector<noised_task_record> records;  ///< comm is used where kind is NOISED_KIND_TASK
  std::vector<Detour> detours;
  std::uint64_t length_ns = 0;  ///< of the time that it spans
};

/// Writes detours of five kinds at random, always the same ones, until their records fill a ring of `ring_bytes`.
class SceneWriter {
 public:
  /// Between two detours there are 20 us up to this time.
  explicit SceneWriter(std::uint64_t longest_gap_ns = 400'000) : longest_gap_ns_(longest_gap_ns) {}

  Stream write(std::size_t ring_bytes) {
    while (used_bytes_ < ring_bytes) {
      now_ns_ += between(20'000, longest_gap_ns_);
      const std::uint64_t start_ns = now_ns_;
      write_detour();
      pass_gap();
      stream_.detours.push_back({start_ns, now_ns_, false});
    }
    stream_.length_ns = now_ns_;
    return std::move(stream_);
  }

 private:
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + random_() % (high - low + 1); }
  // Entry, exit, cache refill.
  void pass_gap() { now_ns_ += between(80, 900); }

  // An interval around `inside`, which writes what is nested in it.
  template <typename Inside>
  void interval(noised_kind kind, std::uint64_t id, Inside inside) {
    pass_gap();
    noised_task_record record{};
    record.record.start_ns = now_ns_;
    record.record.id = id;
    record.record.kind = static_cast<noised_u8>(kind);
    if (kind == NOISED_KIND_TASK) record.comm[0] = static_cast<char>('a' + id);
    now_ns_ += between(100, 2'000);
    inside();
    now_ns_ += between(100, 2'000);
    record.record.duration_ns = now_ns_ - record.record.start_ns;
    stream_.records.push_back(record);
    // As in the ring: each has a header of 8 bytes.
    used_bytes_ += 8 + (kind == NOISED_KIND_TASK ? sizeof(noised_task_record) : sizeof(noised_record));
  }
  void interval(noised_kind kind, std::uint64_t id) {
    interval(kind, id, [] {});
  }

  void tick() {
    interval(NOISED_KIND_VECTOR, NOISED_VECTOR_LOCAL_TIMER, [&] { interval(NOISED_KIND_HRTIMER, 0x1000); });
  }

  void write_detour() {
    constexpr std::uint64_t kTimerSoftirq = 1;
    constexpr std::uint64_t kNetRxSoftirq = 3;
    constexpr std::uint64_t kSchedSoftirq = 7;
    const std::uint64_t one_of_four = between(0, 3);
    switch (between(0, 4)) {
      case 0:  // the tick with a timer: 4 intervals
        tick();
        interval(NOISED_KIND_SOFTIRQ, kTimerSoftirq, [&] { interval(NOISED_KIND_TIMER, 0x2000 + one_of_four); });
        break;
      case 1:  // the tick balances: 3
        tick();
        interval(NOISED_KIND_SOFTIRQ, kSchedSoftirq);
        break;
      case 2:  // a timer wakes a task: 3
        tick();
        interval(NOISED_KIND_TASK, one_of_four);
        break;
      case 3:  // a packet for a task: 3
        interval(NOISED_KIND_IRQ, 1'000'000 + one_of_four);
        interval(NOISED_KIND_SOFTIRQ, kNetRxSoftirq);
        interval(NOISED_KIND_TASK, one_of_four);
        break;
      default:  // a kernel thread works and is interrupted: 5
        interval(NOISED_KIND_VECTOR, NOISED_VECTOR_RESCHEDULE);
        interval(NOISED_KIND_TASK, one_of_four,
                 [&] { interval(NOISED_KIND_WORK, 0x3000 + one_of_four, [&] { tick(); }); });
        break;
    }
  }

  std::mt19937_64 random_;  // NOLINT(cert-msc51-cpp): the same stream every time is what a benchmark needs
  std::uint64_t longest_gap_ns_;
  Stream stream_;
  std::uint64_t now_ns_ = 1'000'000;
  std::size_t used_bytes_ = 0;
};

}  // namespace noised::bench
