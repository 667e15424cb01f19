// SPDX-License-Identifier: Apache-2.0
// How much time around intervals entry, exit and cache refill can cost on this machine, learned from the run.
#pragma once

#include <noised/types.h>

#include <array>
#include <cstdint>

namespace noised {

/// Where in a detour a gap lies: before its first interval, between two, or after the last.
enum class GapPlace : std::uint8_t { before, between, after };
inline constexpr std::size_t kGapPlaces = 3;

/// Time inside a detour and outside every interval.
struct Gap {
  GapPlace place = GapPlace::before;
  Kind kind = Kind::none;  ///< of the interval that follows it; of the one before it when there is none
  std::uint64_t ns = 0;
};

/// The median of a stream of durations, to one eighth, from a log-linear histogram: half of all samples would have to
/// be stolen by the host before the host's time could pass for the kernel's.
class RunningMedian {
 public:
  void add(std::uint64_t ns);
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// The upper edge of the median's bucket; 0 without samples.
  [[nodiscard]] std::uint64_t median() const;

 private:
  static constexpr unsigned kSubBits = 3;
  static constexpr std::size_t kBuckets = 30U << kSubBits;  // up to 2^31 ns; longer ones count in the last
  static std::size_t bucket_of(std::uint64_t ns);

  std::array<std::uint32_t, kBuckets> counts_{};
  std::uint64_t count_ = 0;
};

/// A bound per place and kind: kFactor times the median of the gaps seen there, and at least kFloorNs. Before
/// kEnoughSamples gaps were seen it is kFirstGuessNs.
class OverheadBounds {
 public:
  static constexpr std::uint64_t kFactor = 4;
  static constexpr std::uint64_t kFloorNs = 1'000;
  static constexpr std::uint64_t kFirstGuessNs = 10'000;
  static constexpr std::uint64_t kEnoughSamples = 16;

  OverheadBounds();
  /// The longest gap of this place and kind that is overhead, in ns.
  [[nodiscard]] std::uint64_t bound(GapPlace place, Kind kind) const { return bounds_[index(place, kind)]; }
  /// Takes a gap of a detour that is not in doubt into account.
  void learn(const Gap& gap);

 private:
  static std::size_t index(GapPlace place, Kind kind) {
    return static_cast<std::size_t>(place) * kKindCount + static_cast<std::size_t>(kind);
  }

  std::array<RunningMedian, kGapPlaces * kKindCount> medians_{};
  std::array<std::uint64_t, kGapPlaces * kKindCount> bounds_{};
};

}  // namespace noised
