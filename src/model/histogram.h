// SPDX-License-Identifier: Apache-2.0
// Durations by size, over all of u64, in buckets whose width is at most 1/64 of their lower bound.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/saturating.h"
#include "model/lazy.h"

namespace noised {

/// Durations from low_ns to high_ns, both included, and how many there were.
struct HistogramBucket {
  std::uint64_t low_ns = 0;
  std::uint64_t high_ns = 0;
  std::uint64_t count = 0;
};

/// A log-linear histogram: exact below 128 ns, 64 buckets of equal width in each octave from there on. A full one is
/// 30 KiB, but a source's durations mostly span few octaves, so an octave's 512 bytes are made when it is first hit.
class Histogram {
 public:
  /// The most by which the upper bound of a value's bucket exceeds the value, as a share of the value.
  static constexpr double kRelativeError = 1.0 / 64;

  /// Counts a duration `count` times. Allocates only when the octave is new; a full count stays full.
  void add(std::uint64_t value_ns, std::uint64_t count = 1) {
    if (count == 0) return;
    const Position at = position(value_ns);
    std::uint64_t& bucket = octaves_[at.octave].get_or_make()[at.step];
    bucket = saturating_add(bucket, count);
    count_ = saturating_add(count_, count);
  }

  /// Adds the counts of another histogram, as if its durations had been added here.
  void merge(const Histogram& other);

  /// How many durations were added; stops at UINT64_MAX.
  [[nodiscard]] std::uint64_t count() const { return count_; }

  /// The duration in ns that a share q, from 0 to 1, of all durations does not exceed: the upper bound of the bucket
  /// holding the one of rank ceil(q * count), so never below the exact answer. 0 when empty.
  [[nodiscard]] std::uint64_t quantile(double q) const;

  /// Calls visit(const HistogramBucket&) for every bucket with a count, rising.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t octave = 0; octave < kOctaves; ++octave) {
      const Octave* counts = octaves_[octave].get();
      if (counts == nullptr) continue;
      for (std::size_t step = 0; step < kSteps; ++step) {
        if ((*counts)[step] != 0) visit(bucket_at({octave, step}, (*counts)[step]));
      }
    }
  }

  /// The bounds of the bucket that a duration falls into; its count is 0.
  [[nodiscard]] static constexpr HistogramBucket bucket_of(std::uint64_t value_ns) {
    return bucket_at(position(value_ns), 0);
  }

 private:
  static constexpr unsigned kStepBits = 6;
  static constexpr std::size_t kSteps = std::size_t{1} << kStepBits;
  // Values below 64 share the first; then one for each of the 58 powers of two from 2^6 to 2^63.
  static constexpr std::size_t kOctaves = 64 - kStepBits + 1;

  using Octave = std::array<std::uint64_t, kSteps>;

  struct Position {
    std::size_t octave;
    std::size_t step;
  };

  static constexpr Position position(std::uint64_t value) {
    if (value < kSteps) return {0, static_cast<std::size_t>(value)};
    const auto octave = static_cast<std::size_t>(std::bit_width(value)) - kStepBits;
    return {octave, static_cast<std::size_t>(value >> (octave - 1)) - kSteps};
  }

  static constexpr HistogramBucket bucket_at(Position at, std::uint64_t count) {
    if (at.octave == 0) return {at.step, at.step, count};
    const std::size_t shift = at.octave - 1;
    const std::uint64_t low = std::uint64_t{kSteps + at.step} << shift;
    return {low, low + ((std::uint64_t{1} << shift) - 1), count};
  }

  std::array<Lazy<Octave>, kOctaves> octaves_;
  std::uint64_t count_ = 0;
};

}  // namespace noised
