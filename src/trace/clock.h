// SPDX-License-Identifier: Apache-2.0
// One clock: TSC, which the loop reads, to CLOCK_MONOTONIC, which the kernel's records carry.
#pragma once

#include <noised/result.h>

#include <cstdint>
#include <vector>

namespace noised {

/// One bracketed reading: the counter is `ticks` within half_width_ticks of the moment when the clock was `ns`.
struct ClockSample {
  std::uint64_t ticks = 0;
  std::uint64_t ns = 0;
  std::uint64_t half_width_ticks = 0;
};

/// Takes the tightest of 16 bracketed readings (about 1.5 us in all).
ClockSample read_clock_sample();

/// Piecewise linear between samples, so that it follows NTP slewing (500 ppm at most) sample by sample.
class ClockMap {
 public:
  /// Remembers this many samples: 100 s of detour at one sample every 25 ms, before the oldest segment is extended.
  static constexpr std::size_t kCapacity = 4096;

  ClockMap() { samples_.reserve(kCapacity); }
  ClockMap(const ClockMap&) = delete;  // a copy would have no room, and would allocate while the pipeline runs
  ClockMap& operator=(const ClockMap&) = delete;
  ClockMap(ClockMap&&) noexcept = default;
  ClockMap& operator=(ClockMap&&) noexcept = default;
  ~ClockMap() = default;

  /// Adds a sample newer than all others. Refuses (returns false) one whose bracket is far wider than the usual:
  /// the reader was interrupted; the next will do.
  bool add(const ClockSample& sample);
  /// True once two samples are in.
  [[nodiscard]] bool ready() const { return samples_.size() >= 2; }
  /// CLOCK_MONOTONIC in ns when the counter was `ticks`; asserts ready().
  [[nodiscard]] std::uint64_t to_ns(std::uint64_t ticks) const;
  /// A length of time in ticks, at the rate of the newest segment; asserts ready().
  [[nodiscard]] std::uint64_t to_ticks(std::uint64_t ns) const;
  /// Counter frequency in Hz over all remembered samples.
  [[nodiscard]] double frequency() const;
  /// How far to_ns() may be off: the widest accepted half bracket plus the largest bend seen between segments.
  [[nodiscard]] std::uint64_t uncertainty_ns() const;
  /// How often the two clocks disagreed by more than 10 us from one sample to the next: a step, not a slew.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  [[nodiscard]] const ClockSample* segment(std::uint64_t ticks) const;
  void check_bend(const ClockSample& sample);

  std::vector<ClockSample> samples_;  // rising; the oldest half is dropped when full
  std::uint64_t narrowest_ticks_ = UINT64_MAX;
  std::uint64_t widest_accepted_ticks_ = 0;
  std::uint64_t largest_bend_ns_ = 0;
  std::uint64_t steps_ = 0;
};

/// Fails unless the counter is invariant (CPUID 0x80000007 bit 8), and says what the kernel uses as its clock.
Status check_tsc();

}  // namespace noised
