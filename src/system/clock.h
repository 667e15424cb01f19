// SPDX-License-Identifier: Apache-2.0
// One clock: TSC, which the loop reads, to CLOCK_MONOTONIC, which the kernel's records carry.
#pragma once

#include "base/result.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace noised::system {

/// One bracketed reading: the counter is `ticks` within half_width_ticks of the moment when the clock was `ns`.
struct ClockSample {
  std::uint64_t ticks = 0;
  std::uint64_t ns = 0;
  std::uint64_t half_width_ticks = 0;
};

/// Takes the tightest of 16 bracketed readings (about 1.5 us in all).
ClockSample read_clock_sample();

/// The least or the largest of the last minute: of the current half minute and the one before.
class LastMinute {
 public:
  /// `least` or largest.
  explicit LastMinute(bool least) : least_(least), now_(nothing()), before_(nothing()) {}
  void add(std::uint64_t at_ns, std::uint64_t value);
  [[nodiscard]] std::uint64_t get() const { return better(now_, before_); }

 private:
  [[nodiscard]] std::uint64_t nothing() const { return least_ ? UINT64_MAX : 0; }
  [[nodiscard]] std::uint64_t better(std::uint64_t a, std::uint64_t b) const { return (a < b) == least_ ? a : b; }

  bool least_;
  std::uint64_t began_ns_ = 0;
  std::uint64_t now_;
  std::uint64_t before_;
};

/// Piecewise linear between samples, so that it follows NTP slewing (500 ppm at most) sample by sample.
///
/// Each segment knows how far it may be off: the half brackets at its ends, and how far the line through what came
/// before it misses its end. If the rate changed once within it, by d after a share f of its length L, then the map is
/// off by at most d f (1-f) L, and that line misses by d (1-f) L. Past the newest sample, 1,000 ppm of the time since
/// then are added, and what the rate itself is off.
class ClockMap {
 public:
  /// Remembers this many samples: 20 s of detour at one sample every 5 ms, before the oldest segment is extended.
  static constexpr std::size_t kCapacity = 4096;

  /// Touches its memory, which it fills in minutes: else a drain would fault in a page every few seconds.
  ClockMap() : points_(kCapacity) { points_.clear(); }
  ClockMap(const ClockMap&) = delete;  // a copy would have no room, and would allocate while the pipeline runs
  ClockMap& operator=(const ClockMap&) = delete;
  ClockMap(ClockMap&&) noexcept = default;
  ClockMap& operator=(ClockMap&&) noexcept = default;
  ~ClockMap() = default;

  /// Adds a sample newer than all others. Refuses (returns false) one whose bracket is far wider than the least of the
  /// last minute, for the reader was interrupted; but not if the map without it is worse by far. A clock that went
  /// back, or forth by more than a slew can, is a step: the map begins anew, at the rate that it had, and what lies
  /// between the samples around it is in doubt as a whole. One that is `for_now` gives its place to the next: detours
  /// between two samples that count are known no worse than others, and segments do not become too short to be exact.
  bool add(const ClockSample& sample, bool for_now = false);
  /// True once two samples are in.
  [[nodiscard]] bool ready() const { return points_.size() >= 2; }
  /// CLOCK_MONOTONIC in ns when the counter was `ticks`; asserts ready().
  [[nodiscard]] std::uint64_t to_ns(std::uint64_t ticks) const;
  /// How far to_ns(ticks) may be off, but for steps; UINT64_MAX unless ready().
  [[nodiscard]] std::uint64_t uncertainty_ns(std::uint64_t ticks) const;
  /// The most that any sample of the last minute, or its absence, made of that; UINT64_MAX unless ready().
  [[nodiscard]] std::uint64_t uncertainty_ns() const;
  /// A length of time in ticks, at the newest rate; asserts ready().
  [[nodiscard]] std::uint64_t to_ticks(std::uint64_t ns) const;
  /// Counter frequency in Hz, at the newest rate; asserts ready().
  [[nodiscard]] double frequency() const;
  /// The counter of the newest sample; 0 without one.
  [[nodiscard]] std::uint64_t newest_ticks() const { return points_.empty() ? 0 : points_.back().ticks; }
  /// How often the two clocks disagreed from one sample to the next by more than a slew and 10 us: a step.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  struct Point {
    std::uint64_t ticks = 0;
    std::uint64_t ns = 0;
    std::uint64_t half_ticks = 0;  // of its bracket
    std::uint64_t doubt_ns = 0;    // of the segment that ends here
  };
  struct Rate {
    std::uint64_t ticks = 0;
    std::uint64_t ns = 0;
  };
  [[nodiscard]] std::size_t segment(std::uint64_t ticks) const;
  [[nodiscard]] Rate rate_before(std::uint64_t ticks) const;
  [[nodiscard]] std::uint64_t growth_ns(std::size_t at, std::uint64_t ticks) const;
  bool begin_anew(const ClockSample& sample);
  bool extend(const ClockSample& sample);
  void append(const ClockSample& sample, std::uint64_t missed_ns);

  std::vector<Point> points_;      // rising; the oldest half is dropped when full
  std::size_t epoch_ = 0;          // the first point since the last step
  bool for_now_ = false;           // the newest point gives its place to the next
  Rate rate_;                      // newest, of no segment with a step
  std::uint64_t asked_ticks_ = 0;  // of the newest sample that was offered, taken or not
  LastMinute narrowest_ticks_{true};
  LastMinute worst_ns_{false};
  std::uint64_t steps_ = 0;
};

/// Fails unless the counter is invariant (CPUID 0x80000007 bit 8).
Status check_tsc();
/// How the kernel's clock and the counter belong together, by `directory`, sysfs's of the clock source. Fails where the
/// kernel has given the counter up as unstable: the CPUs' counters may differ then. Else what is to be said of it;
/// nothing where the clock is the counter, by itself or as the hypervisor hands it on.
Result<std::optional<std::string>> check_clock_source(
    const std::string& directory = "/sys/devices/system/clocksource/clocksource0");

/// Tells when the kernel goes over to another clock source, as it does where it finds the counter unstable.
class ClockSourceWatch {
 public:
  /// Reads it for the first time. Where the kernel does not tell it, it never changes.
  explicit ClockSourceWatch(const std::string& directory = "/sys/devices/system/clocksource/clocksource0");
  /// Reads it again; true if it is another than the last time. One system call.
  bool changed();

 private:
  [[nodiscard]] std::string_view read(std::array<char, 64>& text) const;

  Descriptor file_;
  std::string name_;
};

}  // namespace noised::system
