// SPDX-License-Identifier: Apache-2.0
// Sums over blocks of time, and what they say of how well a share is known. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace noised {

/// Amounts by time since some beginning, in up to 64 blocks of one length, which doubles where they would not do: any
/// length of time has a bounded memory, and 33 to 64 blocks from 64 ms on.
class TimeBlocks {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::uint64_t kFirstNs = 1'000'000;

  /// Adds an amount to the block that has this time.
  void add(std::uint64_t at_ns, double amount);
  /// Adds a stretch of time to every block that has a part of it, that part in ns.
  void add_stretch(std::uint64_t start_ns, std::uint64_t end_ns);
  /// Makes blocks at least as long.
  void widen(std::uint64_t width_ns);

  [[nodiscard]] std::uint64_t width_ns() const { return width_ns_; }
  /// The sum of block `index`; 0 of one that was never added to.
  [[nodiscard]] double sum(std::size_t index) const { return index < sums_.size() ? sums_[index] : 0; }
  [[nodiscard]] std::size_t size() const { return sums_.size(); }

 private:
  std::vector<double> sums_;
  std::uint64_t width_ns_ = kFirstNs;
};

/// A share of time, and 95% limits of its mean over longer times that are like this one; none from fewer than 8 blocks.
struct Share {
  double value = 0;
  std::optional<double> low;  ///< not below 0
  std::optional<double> high;
};

/// amount / observed, both by block: the ratio estimator, blocks being a sample (Cochran 1977, equation 6.13 without
/// the finite population); `less` is taken off the amount, times `factor`.
Share share_of(TimeBlocks amount, TimeBlocks observed, TimeBlocks less = {}, double factor = 0);

/// Student's t for 95% of both sides; the expansion is right within 0.5% from 7 degrees of freedom on.
double students_t(std::size_t degrees);

}  // namespace noised
