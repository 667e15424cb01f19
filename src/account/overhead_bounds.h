// SPDX-License-Identifier: Apache-2.0
// How much time around intervals entry, exit and cache refill can cost on this machine, learned from the run.
#pragma once

#include "model/types.h"

#include <array>
#include <cstdint>

namespace noised::account {

/// Where in a detour a gap lies: before its first interval, between two, or after the last.
enum class GapPlace : std::uint8_t { before, between, after };
inline constexpr std::size_t kGapPlaces = 3;

/// "before", "between" or "after".
constexpr const char* to_string(GapPlace place) {
  if (place == GapPlace::before) return "before";
  return place == GapPlace::between ? "between" : "after";
}

/// Time inside a detour and outside every interval.
struct Gap {
  GapPlace place = GapPlace::before;
  Kind kind = Kind::none;  ///< of the interval that follows it; of the one before it when there is none
  std::uint64_t ns = 0;
};

/// The lower half of a stream of durations, to 1/32, from a log-linear histogram. What a host steals only makes
/// gaps longer, so the lower half is the machine's own as long as less than half of the gaps were struck.
class LowerHalf {
 public:
  void add(std::uint64_t ns);
  /// Everything that was added counts for half as much.
  void halve();
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// The upper edge of the bucket that holds the median; 0 without samples.
  [[nodiscard]] std::uint64_t median() const { return quantile(2); }
  /// The same of the lower quartile.
  [[nodiscard]] std::uint64_t lower_quartile() const { return quantile(4); }

 private:
  static constexpr unsigned kSubBits = 5;
  static constexpr std::size_t kBuckets = 28U << kSubBits;  // up to 2^32 ns; longer ones count in the last
  static std::size_t bucket_of(std::uint64_t ns);
  static std::uint64_t upper_edge(std::size_t bucket);
  [[nodiscard]] std::uint64_t quantile(std::uint64_t parts) const;  // the first of `parts` equal parts ends there

  std::array<std::uint32_t, kBuckets> counts_{};
  std::uint64_t count_ = 0;
};

/// A bound per place and kind: the median of the gaps seen there plus kSpreads times its distance from the lower
/// quartile, but at least twice the median and kFloorNs. Before kEnoughSamples gaps were seen it is kFirstGuessNs;
/// after 4 * kEnoughSamples it is renewed every 64 gaps, and what was seen counts for half as much after kHalfLifeNs,
/// so that bounds follow another frequency or another host within a minute. On a virtual machine with a paravirtual MMU
/// the gap before a vector had quartile 11.1, median 12.6, 90% 15.7 and 99% 26.9 us; after one 0.21, 0.33, 0.6 and 3.5
/// us: bounds 25 and 2 us.
class OverheadBounds {
 public:
  static constexpr std::uint64_t kSpreads = 8;
  static constexpr std::uint64_t kFloorNs = 2'000;
  static constexpr std::uint64_t kFirstGuessNs = 10'000;
  static constexpr std::uint64_t kEnoughSamples = 16;
  static constexpr std::uint64_t kHalfLifeNs = 15'000'000'000;

  OverheadBounds();
  /// The longest gap of this place and kind that is overhead, in ns.
  [[nodiscard]] std::uint64_t bound(GapPlace place, Kind kind) const { return bounds_[index(place, kind)]; }
  /// Takes a gap of a detour that is not in doubt into account; the detour ended at `at_ns`, not before the last one.
  void learn(const Gap& gap, std::uint64_t at_ns = 0);
  /// How many gaps the bound of this place and kind is learned from; 0: too few were seen, it is the first guess.
  [[nodiscard]] std::uint64_t samples(GapPlace place, Kind kind) const {
    const std::uint64_t count = seen_[index(place, kind)].count();
    return count < kEnoughSamples ? 0 : count;
  }

 private:
  static std::size_t index(GapPlace place, Kind kind) {
    return static_cast<std::size_t>(place) * kKindCount + static_cast<std::size_t>(kind);
  }

  std::array<LowerHalf, kGapPlaces * kKindCount> seen_{};
  std::array<std::uint64_t, kGapPlaces * kKindCount> bounds_{};
  std::array<std::uint64_t, kGapPlaces * kKindCount> halved_ns_{};
};

/// What the CPUs of a node have learned, by place and kind; of a fixed size, for a snapshot.
class LearnedBounds {
 public:
  struct Row {
    std::uint64_t cpus = 0;      ///< that have learned it
    std::uint64_t least_ns = 0;  ///< the smallest of their bounds,
    std::uint64_t most_ns = 0;   ///< and the largest
    std::uint64_t samples = 0;   ///< gaps that they have learned it from
  };

  void clear() { rows_ = {}; }
  /// Adds what one CPU has learned.
  void add(const OverheadBounds& bounds);
  /// Calls visit(GapPlace, Kind, const Row&) for each that was learned, by place, then kind.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t at = 0; at < rows_.size(); ++at) {
      if (rows_[at].cpus != 0)
        visit(static_cast<GapPlace>(at / kKindCount), static_cast<Kind>(at % kKindCount), rows_[at]);
    }
  }

 private:
  std::array<Row, kGapPlaces * kKindCount> rows_{};
};

}  // namespace noised::account
