// SPDX-License-Identifier: Apache-2.0
// How long phases are: statistics, survival function, and p (Tsafrir et al. 2005, 3.2: table 2, figures 3 and 5). Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/projection/estimate.h"
#include "model/moments.h"

namespace noised::analysis {

/// With probability p a phase is longer than this; nothing where too few phases were seen to say so. The bounds are
/// those of a 95% interval, by order statistics: they take phases for independent of each other.
struct Survival {
  double p = 0;
  std::uint64_t phases_needed = 0;
  std::optional<std::uint64_t> longer_than_ns;
  std::uint64_t low_ns = 0;
  std::uint64_t high_ns = 0;
};

/// The probability that a phase exceeds its grain by more than such a share of it.
struct Exceeding {
  double share = 0;
  std::uint64_t above_ns = 0;
  std::uint64_t phases = 0;
  SeenShare p;
};

/// The durations of phases. Single nanoseconds up to 4096, above that to 1/4096 of the duration: what exceeds its grain
/// by 1% has to be told from what does not. Memory is 32 KiB for each octave in which there was a phase.
class PhaseDurations {
 public:
  /// The most by which a bucket's upper bound exceeds a duration in it, as a share of the duration.
  static constexpr double kRelativeError = 1.0 / 4096;

  void add(std::uint64_t duration_ns);

  /// Exact: average, deviation, minimum, maximum.
  [[nodiscard]] const Moments& moments() const { return moments_; }
  [[nodiscard]] std::uint64_t median_ns() const { return at_rank((moments_.count() + 1) / 2); }
  /// What the work takes: the mean of the second decile, as the paper calibrates it. Nothing without a phase.
  [[nodiscard]] std::optional<double> calibrated_ns() const;
  /// p = 0.1 to 1e-6. Where a tenth of p would be less than one phase, or so, nothing is said: 10 must be longer.
  [[nodiscard]] std::vector<Survival> survival() const;
  /// Of the grain calibrated_ns(); empty without a phase.
  [[nodiscard]] std::vector<Exceeding> exceeding(std::span<const double> shares = kUsualDelays) const;

 private:
  static constexpr unsigned kStepBits = 12;
  static constexpr std::size_t kSteps = std::size_t{1} << kStepBits;
  static constexpr std::size_t kOctaves = 64 - kStepBits + 1;

  struct Bucket {
    std::uint64_t low_ns;
    std::uint64_t high_ns;
  };
  static Bucket bucket_of(std::uint64_t duration_ns);
  static Bucket bucket_at(std::size_t octave, std::size_t step);
  template <typename Visit>
  void for_each(Visit&& visit) const;
  [[nodiscard]] std::uint64_t at_rank(std::uint64_t rank) const;

  Moments moments_;
  std::array<std::vector<std::uint64_t>, kOctaves> octaves_;
};

}  // namespace noised::analysis
