// SPDX-License-Identifier: Apache-2.0
// A bin's number is its time divided by the width, so that the order in which times come makes no difference.
#include "page/time_bins.h"

#include <algorithm>
#include <cassert>

namespace noised::page {

TimeBins::TimeBins(std::size_t lanes, std::size_t columns, std::size_t most_bins)
    : lanes_(lanes), columns_(columns), most_bins_(most_bins) {
  assert(lanes > 0 && columns > 0 && most_bins > 1);  // two times may lie on both sides of any border
}

void TimeBins::double_width() {
  const std::uint64_t old_first = first_;
  const std::size_t old_bins = bins();
  const std::size_t row = lanes_ * columns_;
  width_ns_ *= 2;
  first_ /= 2;
  std::vector<std::uint64_t> merged(((old_first + old_bins - 1) / 2 - first_ + 1) * row, 0);
  for (std::size_t bin = 0; bin < old_bins; ++bin) {
    const std::size_t to = (old_first + bin) / 2 - first_;
    for (std::size_t i = 0; i < row; ++i) merged[to * row + i] += cells_[bin * row + i];
  }
  cells_ = std::move(merged);
}

void TimeBins::cover(std::uint64_t first_ns, std::uint64_t last_ns) {
  if (cells_.empty()) {
    while (last_ns / width_ns_ - first_ns / width_ns_ >= most_bins_) width_ns_ *= 2;
    first_ = first_ns / width_ns_;
    cells_.resize(lanes_ * columns_, 0);
  }
  for (;;) {
    const std::uint64_t first = std::min(first_, first_ns / width_ns_);
    const std::uint64_t last = std::max(first_ + bins() - 1, last_ns / width_ns_);
    if (last - first < most_bins_) break;
    double_width();
  }
  const std::size_t row = lanes_ * columns_;
  const std::uint64_t first = std::min(first_, first_ns / width_ns_);
  cells_.insert(cells_.begin(), (first_ - first) * row, 0);
  first_ = first;
  cells_.resize(std::max<std::size_t>(bins(), last_ns / width_ns_ - first_ + 1) * row, 0);
}

void TimeBins::add(std::size_t lane, std::size_t column, std::uint64_t start_ns, std::uint64_t end_ns) {
  if (end_ns <= start_ns) return;
  cover(start_ns, end_ns - 1);
  const std::uint64_t last = (end_ns - 1) / width_ns_;
  while (start_ns / width_ns_ < last) {
    const std::uint64_t index = start_ns / width_ns_;
    const std::uint64_t next_ns = (index + 1) * width_ns_;
    cell(index, lane, column) += next_ns - start_ns;
    start_ns = next_ns;
  }
  cell(last, lane, column) += end_ns - start_ns;
}

void TimeBins::count(std::size_t lane, std::size_t column, std::uint64_t at_ns) {
  cover(at_ns, at_ns);
  ++cell(at_ns / width_ns_, lane, column);
}

}  // namespace noised::page
