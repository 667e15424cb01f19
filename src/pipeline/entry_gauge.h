// SPDX-License-Identifier: Apache-2.0
// Measures what entries into the kernel cost beside what its events see, by a thread that is watched as any other task
// and sees its own gaps.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "account/entry_costs.h"
#include "system/clock.h"

namespace noised::pipeline {

/// For 0.3 s, one thread spins on a watched CPU as long as nobody else wants it (SCHED_IDLE), and another one wakes up
/// there.
class EntryGauge {
 public:
  /// Null where no thread can be had, or none on a watched CPU.
  static std::unique_ptr<EntryGauge> start(std::span<const unsigned> watched);
  /// Ends the threads.
  ~EntryGauge();
  EntryGauge(const EntryGauge&) = delete;
  EntryGauge& operator=(const EntryGauge&) = delete;

  /// Something that any task lost.
  void lost(const account::Loss& loss, std::span<const Interval> intervals);
  /// What was learned, once all that its thread lost was added; it is told until `settled_ns`.
  [[nodiscard]] std::optional<account::EntryCosts> costs(std::uint64_t settled_ns) const;

 private:
  struct TickGap {
    std::uint64_t start;
    std::uint64_t end;
  };
  explicit EntryGauge(unsigned cpu);
  void spin();
  void disturb();
  void look_for_gaps(std::uint64_t threshold, std::uint64_t until);

  unsigned cpu_;
  std::vector<pthread_t> threads_;
  std::atomic<std::uint32_t> tid_ = 0;       // of the one that spins
  std::atomic<std::uint64_t> ended_ns_ = 0;  // then; what it writes below is complete
  std::atomic<bool> stop_ = false;
  std::vector<TickGap> gaps_;
  system::ClockMap clock_;
  account::EntryLearner learner_;
};

}  // namespace noised::pipeline
