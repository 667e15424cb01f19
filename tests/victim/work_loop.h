// SPDX-License-Identifier: Apache-2.0
// Fixed work between two readings of the time stamp counter, without end: whatever is between them and is not the work
// was taken from it.
#pragma once

#include <csignal>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

#include "system/clock.h"

namespace noised::victim {

using namespace noised::system;

/// A list whose memory is there, and touched, before anything is added: no page fault while it fills.
template <typename T>
class Log {
 public:
  explicit Log(std::size_t capacity) : items_(capacity) {}

  void add(const T& item) {
    if (size_ < items_.size()) {
      items_[size_++] = item;
    } else {
      ++missed_;
    }
  }
  [[nodiscard]] std::span<const T> items() const { return {items_.data(), size_}; }
  [[nodiscard]] std::uint64_t missed() const { return missed_; }

 private:
  std::vector<T> items_;
  std::size_t size_ = 0;
  std::uint64_t missed_ = 0;
};

struct TickGap {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

struct TickSleep {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t due_ns = 0;  ///< CLOCK_MONOTONIC
  bool at_once = true;       ///< the kernel counted no switch that it did not want: it slept from the start on
};

/// Pages that are given back and touched again, one by one: each touch is a page fault.
class FaultMemory {
 public:
  static Result<FaultMemory> map();
  FaultMemory(FaultMemory&& other) noexcept;
  FaultMemory& operator=(FaultMemory&&) = delete;
  FaultMemory(const FaultMemory&) = delete;
  FaultMemory& operator=(const FaultMemory&) = delete;
  ~FaultMemory();

  [[nodiscard]] bool used_up() const { return next_ == kPages; }
  void give_back();
  void touch() { pages_[kPageBytes * next_++] = 1; }

 private:
  explicit FaultMemory(volatile char* pages) : pages_(pages) {}

  static constexpr std::size_t kPages = 64;
  static constexpr std::size_t kPageBytes = 4096;

  volatile char* pages_;
  std::size_t next_ = kPages;
};

/// All in ticks but what says otherwise; 0 is never for the three that are done again and again.
struct LoopOptions {
  std::uint64_t duration = 0;
  std::uint64_t threshold = 0;  ///< the largest gap that is not told
  std::uint64_t sample = 0;     ///< between two samples of the clock
  std::uint64_t fault = 0;      ///< between two page faults
  std::uint64_t spin = 0;       ///< between two sleeps
  std::uint64_t sleep_ns = 0;   ///< how long each is
};

struct LoopRecords {
  Log<TickGap> gaps;
  Log<TickSleep> sleeps;
  Log<ClockSample> samples;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t calls = 0;  ///< ticks in madvise(2)
  std::uint64_t faults = 0;
  std::uint64_t iterations = 0;
};

/// Runs for as long as the options say, or until `stop` is not 0. Every tick from `first` to `last` is in an
/// undisturbed iteration, in a gap, in a sleep or in `calls`.
void run_work_loop(const LoopOptions& options, FaultMemory& memory, const volatile std::sig_atomic_t& stop,
                   LoopRecords& records);

}  // namespace noised::victim
