// SPDX-License-Identifier: Apache-2.0
// Sums over time when nobody knows how long it will last: bins that double in width when there are too many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace noised::page {

/// Bins of equal width, each with columns of integers for every lane (a CPU, or all of them). Memory is bounded by
/// lanes * columns * most_bins, whatever is added.
class TimeBins {
 public:
  TimeBins(std::size_t lanes, std::size_t columns, std::size_t most_bins);

  /// Adds the nanoseconds from start to end, each to the bin in which it lies.
  void add(std::size_t lane, std::size_t column, std::uint64_t start_ns, std::uint64_t end_ns);
  /// Adds one to the bin in which this time lies.
  void count(std::size_t lane, std::size_t column, std::uint64_t at_ns);

  /// Has bins from the first to the last of these times, both included.
  void cover(std::uint64_t first_ns, std::uint64_t last_ns);

  /// Bins begin at multiples of their width, which is a microsecond times a power of two.
  [[nodiscard]] std::uint64_t width_ns() const { return width_ns_; }
  [[nodiscard]] std::uint64_t first_ns() const { return first_ * width_ns_; }
  [[nodiscard]] std::size_t bins() const { return cells_.size() / (lanes_ * columns_); }
  [[nodiscard]] std::uint64_t at(std::size_t bin, std::size_t lane, std::size_t column) const {
    return cells_[(bin * lanes_ + lane) * columns_ + column];
  }

 private:
  void double_width();
  std::uint64_t& cell(std::uint64_t index, std::size_t lane, std::size_t column) {
    return cells_[((index - first_) * lanes_ + lane) * columns_ + column];
  }

  std::size_t lanes_;
  std::size_t columns_;
  std::size_t most_bins_;
  std::uint64_t width_ns_ = 1'000;
  std::uint64_t first_ = 0;  // what the first bin's time is divided by the width
  std::vector<std::uint64_t> cells_;
};

}  // namespace noised::page
