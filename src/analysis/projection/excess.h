// SPDX-License-Identifier: Apache-2.0
// How much longer than their grain phases take, each weighted by the time in which such phases began. Pure.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

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

/// Phases that begin at all times from the end of those before them until `end_ns`, of one CPU or of a node.
struct Begins {
  /// What is seen of them, from the best to the worst: they are observed to their end, their begin is, or nothing.
  enum class Seen : std::uint8_t { whole, begun, nothing };

  std::uint64_t end_ns = 0;
  Seen seen = Seen::nothing;
  std::uint64_t level_ns = 0;  ///< the excess of those outside of detours; 0: none is
  std::uint64_t done_ns = 0;   ///< when those inside a detour would be over without their grain; 0: none is
  /// When the oldest of the detours began in which their CPUs are; UINT64_MAX: all CPUs are free.
  std::uint64_t away_since_ns = UINT64_MAX;
};

/// The excess of phases, in blocks of equal length of the time that was observed: what differs between blocks tells how
/// much the whole can be relied upon.
class ExcessBlocks {
 public:
  static constexpr std::size_t kBlocks = 24;
  /// Ages of the oldest detour in which a phase begins: 0 where it begins in none, 1 up to 1,024 ns, then by powers of
  /// two, the last from 34 s.
  static constexpr std::size_t kAges = 28;

  /// `observed_ns`: how much there will be of all; what is beyond it belongs to the last block. `by_age`: by ages too;
  /// else all have the age 0.
  explicit ExcessBlocks(std::uint64_t observed_ns, bool by_age = false)
      : length_ns_(observed_ns / kBlocks + 1), ages_(by_age ? kAges : 1) {
    ages_.front().resize(kBlocks);
  }

  /// The next in order of time; the first begin at 0.
  void add(const Begins& next);

  /// Of one age, by block; empty where there are none.
  [[nodiscard]] const std::vector<Excess>& blocks(std::size_t age = 0) const { return ages_[age]; }
  /// Of all blocks of one age.
  [[nodiscard]] Excess of_age(std::size_t age = 0) const;
  [[nodiscard]] std::size_t ages() const { return ages_.size(); }
  /// The middle of an age.
  [[nodiscard]] static double age_ns(std::size_t age);
  /// The time in which phases began that were observed to their end.
  [[nodiscard]] std::uint64_t starts_ns() const { return starts_ns_; }
  /// All time that was observed so far.
  [[nodiscard]] std::uint64_t observed_ns() const { return observed_ns_; }

 private:
  void add_whole(const Begins& next, std::size_t age);
  void seek(std::uint64_t position_ns);
  void add_level(std::size_t age, std::uint64_t excess_ns, std::uint64_t weight_ns);
  void add_ramp(std::size_t age, std::uint64_t low_ns, std::uint64_t high_ns);
  Excess& now_at(std::size_t age);
  [[nodiscard]] std::uint64_t left_ns() const {
    return block_ + 1 < kBlocks ? block_end_ns_ - position_ns_ : UINT64_MAX;
  }
  void advance(std::uint64_t by_ns);

  std::uint64_t now_ns_ = 0;       // all before it was added
  std::uint64_t observed_ns_ = 0;  // of that
  std::uint64_t length_ns_;
  std::uint64_t position_ns_ = 0;
  std::size_t block_ = 0;
  std::uint64_t block_end_ns_ = length_ns_;
  std::uint64_t starts_ns_ = 0;
  std::vector<std::vector<Excess>> ages_;  // of each the blocks
};

}  // namespace noised::analysis
