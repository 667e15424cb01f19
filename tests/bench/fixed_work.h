// SPDX-License-Identifier: Apache-2.0
// Work that takes as long as it is made to, but for what is taken from it: a chain of multiplications, each of which
// waits for the one before. It needs no memory, and a neighbour on the same core hardly slows it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clocks.h"

namespace noised::bench {

[[gnu::noinline]] inline void multiply(std::uint64_t steps) {
  std::uint64_t state = steps | 1U;
  for (std::uint64_t i = 0; i < steps; ++i) {
    state *= 6364136223846793005U;
    asm volatile("" : "+r"(state));
  }
}

/// Mean of the second decile: neither what was disturbed, nor the one that was luckier than all others.
inline double second_decile(std::vector<std::uint64_t> values) {
  std::ranges::sort(values);
  const std::size_t from = values.size() / 10;
  const std::size_t to = std::max(values.size() / 5, from + 1);
  double sum = 0;
  for (std::size_t i = from; i < to; ++i) sum += static_cast<double>(values.at(i));
  return sum / static_cast<double>(to - from);
}

/// What so many steps take, with the reading of the clock around them.
inline std::uint64_t ticks_of(std::uint64_t steps) {
  const std::uint64_t begin = read_tsc_ordered();
  multiply(steps);
  return read_tsc_ordered() - begin;
}

struct Speed {
  double step;     // ticks of one
  double reading;  // ticks that are in ticks_of() besides
};

/// By pieces so short that most of them are not disturbed even where noise comes 10,000 times a second, of two lengths.
inline Speed measure_speed() {
  constexpr std::uint64_t kShort = 2'000;  // 2 us or so
  constexpr std::uint64_t kLong = 16'000;
  std::vector<std::uint64_t> of_short;
  std::vector<std::uint64_t> of_long;
  for (int i = 0; i < 5'000; ++i) {
    of_short.push_back(ticks_of(kShort));
    of_long.push_back(ticks_of(kLong));
  }
  const double shorter = second_decile(std::move(of_short));
  const double step = (second_decile(std::move(of_long)) - shorter) / (kLong - kShort);
  return {step, shorter - step * kShort};
}

/// So many steps, made to take so long; and pieces of them that tell, time and again, how long that is by now: the
/// clock of a processor goes up and down by 4% and more, many times a second, which is no noise.
class Work {
 public:
  Work(double grain_ns, double ticks_per_ns, const Speed& speed)
      : ticks_per_ns_(ticks_per_ns),
        reading_(speed.reading),
        steps_(static_cast<std::uint64_t>(grain_ns * ticks_per_ns / speed.step)),
        piece_steps_(static_cast<std::uint64_t>(kPieceNs * ticks_per_ns / speed.step)) {}

  static constexpr double kPieceNs = 20'000;
  static constexpr int kPieces = 5;

  void phase() const { multiply(steps_); }
  /// What a phase would take now if nothing disturbed it, in ns. Takes kPieces pieces, of which the second fastest
  /// counts.
  [[nodiscard]] std::uint64_t undisturbed_ns() const {
    std::array<std::uint64_t, kPieces> pieces{};
    for (std::uint64_t& piece : pieces) piece = ticks_of(piece_steps_);
    std::ranges::sort(pieces);
    const double of_piece = (static_cast<double>(pieces[1]) - reading_) / ticks_per_ns_;
    return static_cast<std::uint64_t>(of_piece * static_cast<double>(steps_) / static_cast<double>(piece_steps_));
  }
  [[nodiscard]] std::uint64_t ticks(double ns) const { return static_cast<std::uint64_t>(ns * ticks_per_ns_); }
  [[nodiscard]] std::uint64_t ns(std::uint64_t ticks) const {
    return static_cast<std::uint64_t>(static_cast<double>(ticks) / ticks_per_ns_);
  }

 private:
  double ticks_per_ns_;
  double reading_;
  std::uint64_t steps_;
  std::uint64_t piece_steps_;
};

/// Both clocks, next to each other: of many pairs the one that was read fastest.
class ClockPair {
 public:
  ClockPair() {
    std::uint64_t best = UINT64_MAX;
    for (int i = 0; i < 100; ++i) {
      const std::uint64_t before = read_tsc_ordered();
      const std::uint64_t ns = monotonic_ns();
      const std::uint64_t took = read_tsc_ordered() - before;
      if (took >= best) continue;
      best = took;
      ticks_ = before + took / 2;
      ns_ = ns;
    }
  }
  /// Between then and now.
  [[nodiscard]] double ticks_per_ns() const {
    const ClockPair now;
    return static_cast<double>(now.ticks_ - ticks_) / static_cast<double>(now.ns_ - ns_);
  }

 private:
  std::uint64_t ticks_ = 0;
  std::uint64_t ns_ = 0;
};

/// On the CPU of the calling thread, once its clock has had time to rise.
inline Work calibrate(double grain_ns) {
  constexpr std::uint64_t kWarmUpNs = 200'000'000;
  const ClockPair begin;
  const std::uint64_t begin_ns = monotonic_ns();
  while (monotonic_ns() - begin_ns < kWarmUpNs) multiply(10'000);
  const Speed speed = measure_speed();
  return {grain_ns, begin.ticks_per_ns(), speed};
}

}  // namespace noised::bench
