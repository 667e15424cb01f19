// SPDX-License-Identifier: Apache-2.0
#include "advice/time_blocks.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace noised {
namespace {

constexpr std::size_t kFewestBlocks = 8;

}  // namespace

void TimeBlocks::widen(std::uint64_t width_ns) {
  while (width_ns_ < width_ns) {
    for (std::size_t i = 0; i < sums_.size(); i += 2) sums_[i / 2] = sums_[i] + sum(i + 1);
    sums_.resize((sums_.size() + 1) / 2);
    width_ns_ *= 2;
  }
}

void TimeBlocks::add(std::uint64_t at_ns, double amount) {
  while (at_ns / width_ns_ >= kMost) widen(2 * width_ns_);
  const std::size_t block = at_ns / width_ns_;
  if (block >= sums_.size()) sums_.resize(block + 1);
  sums_[block] += amount;
}

void TimeBlocks::add_stretch(std::uint64_t start_ns, std::uint64_t end_ns) {
  if (start_ns >= end_ns) return;
  add(end_ns - 1, 0);  // as wide as it will be
  while (start_ns < end_ns) {
    // The end of the last block that there can be is no time that 64 bits hold.
    const std::uint64_t part_ns = std::min(end_ns - start_ns, width_ns_ - start_ns % width_ns_);
    add(start_ns, static_cast<double>(part_ns));
    start_ns += part_ns;
  }
}

double students_t(std::size_t degrees) {
  assert(degrees > 0);
  constexpr double z = 1.959963985;
  const auto n = static_cast<double>(degrees);
  // Abramowitz and Stegun 26.7.5.
  return z + (std::pow(z, 3) + z) / 4 / n + (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) / 96 / (n * n) +
         (3 * std::pow(z, 7) + 19 * std::pow(z, 5) + 17 * std::pow(z, 3) - 15 * z) / 384 / (n * n * n);
}

Share share_of(TimeBlocks amount, TimeBlocks observed, TimeBlocks less, double factor) {
  const std::uint64_t width = std::max({amount.width_ns(), observed.width_ns(), less.width_ns()});
  for (TimeBlocks* blocks : {&amount, &observed, &less}) blocks->widen(width);
  const auto at = [&](std::size_t i) { return amount.sum(i) - factor * less.sum(i); };
  double amounts = 0;
  double times = 0;
  std::size_t blocks = 0;
  for (std::size_t i = 0; i < observed.size(); ++i) {
    amounts += at(i);
    times += observed.sum(i);
    if (observed.sum(i) > 0) ++blocks;
  }
  if (times <= 0) return {};
  Share share{amounts / times, std::nullopt, std::nullopt};
  if (blocks < kFewestBlocks) return share;
  double squares = 0;
  for (std::size_t i = 0; i < observed.size(); ++i) {
    const double off = at(i) - share.value * observed.sum(i);
    squares += off * off;
  }
  const auto n = static_cast<double>(blocks);
  const double half = students_t(blocks - 1) * std::sqrt(n / (n - 1) * squares) / times;
  share.low = std::max(0.0, share.value - half);
  share.high = share.value + half;
  return share;
}

}  // namespace noised
