// SPDX-License-Identifier: Apache-2.0
// How much longer than their grain phases take, each weighted by the time in which such phases began. Pure.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "model/lazy.h"

namespace noised::analysis {

/// A distribution in buckets that are exact below 32 ns, and at most 1/32 of their lower bound wide from there on. In
/// each, weights and means are exact; only where in its bucket a value lies is lost, so that no delay is off by more
/// than 1/32. An octave of buckets, 1.3 KB, is made when it is first hit.
class Excess {
 public:
  static constexpr double kRelativeError = 1.0 / 32;

  /// In one bucket: phases that begin in a stretch of time all have the same excess (levels), or one that falls by a
  /// nanosecond each nanosecond (ramps, from their high to their low end: a ramp is a +1 at its high end and a -1 at
  /// its low one, as the density of its values is 1 between them). Values count from the bucket's lower bound.
  struct Bucket {
    std::uint64_t weight_ns = 0;  ///< of levels
    std::int64_t ramps = 0;       ///< high ends less low ends
    double level_sum = 0;         ///< weight * value
    double ramp_sum = 0;          ///< of the ends' values, each with its sign
    double ramp_squares = 0;      ///< half of their squares, the same
  };

  /// For so long, phases began whose excess was this.
  void add_level(std::uint64_t excess_ns, std::uint64_t weight_ns) {
    const Position at = position(excess_ns);
    Bucket& bucket = octaves_[at.octave].get_or_make()[at.step];
    bucket.weight_ns += weight_ns;
    bucket.level_sum += static_cast<double>(weight_ns) * static_cast<double>(excess_ns - low_ns(at));
  }
  /// For high - low ns, phases began whose excess fell from `high_ns` to `low_ns`.
  void add_ramp(std::uint64_t low_ns, std::uint64_t high_ns) {
    add_end(low_ns, -1);
    add_end(high_ns, 1);
  }
  /// As if everything of the other one had been added here.
  void merge(const Excess& other);

  /// Buckets are numbered from the lowest values up; all those from size() on are empty.
  [[nodiscard]] std::size_t size() const;
  /// Empty where nothing was added.
  [[nodiscard]] Bucket at(std::size_t number) const {
    const Octave* const octave = octaves_[number / kSteps].get();
    return octave == nullptr ? Bucket{} : (*octave)[number % kSteps];
  }
  /// The bucket of a value.
  [[nodiscard]] static std::size_t number(std::uint64_t excess_ns) {
    const Position at = position(excess_ns);
    return at.octave * kSteps + at.step;
  }
  /// The lower bound of a bucket, in ns; the upper one is that of the next.
  [[nodiscard]] static double low_ns(std::size_t number) {
    const std::size_t octave = number / kSteps;
    if (octave == 0) return static_cast<double>(number);
    return std::ldexp(static_cast<double>(kSteps + number % kSteps), static_cast<int>(octave) - 1);
  }

 private:
  static constexpr unsigned kStepBits = 5;
  static constexpr std::size_t kSteps = std::size_t{1} << kStepBits;
  // Values below 32 share the first; then one for each of the 59 powers of two from 2^5 to 2^63.
  static constexpr std::size_t kOctaves = 64 - kStepBits + 1;
  using Octave = std::array<Bucket, kSteps>;

  struct Position {
    std::size_t octave;
    std::size_t step;
  };
  static constexpr Position position(std::uint64_t value) {
    if (value < kSteps) return {0, static_cast<std::size_t>(value)};
    const auto octave = static_cast<std::size_t>(std::bit_width(value)) - kStepBits;
    return {octave, static_cast<std::size_t>(value >> (octave - 1)) - kSteps};
  }
  static constexpr std::uint64_t low_ns(Position at) {
    return at.octave == 0 ? at.step : std::uint64_t{kSteps + at.step} << (at.octave - 1);
  }
  void add_end(std::uint64_t excess_ns, int sign) {
    const Position at = position(excess_ns);
    Bucket& bucket = octaves_[at.octave].get_or_make()[at.step];
    const auto value = static_cast<double>(excess_ns - low_ns(at));
    bucket.ramps += sign;
    bucket.ramp_sum += sign * value;
    bucket.ramp_squares += sign * value * value / 2;
  }

  std::array<Lazy<Octave>, kOctaves> octaves_;
};

}  // namespace noised::analysis
