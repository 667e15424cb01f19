// SPDX-License-Identifier: Apache-2.0
// The loop's work in each quantum beside what detours and intervals took of it (FTQ: Sottile and Minnich 2004; Morari
// 2011, figure 1). Pure: no clock, no I/O.
#pragma once

#include <noised/types.h>

#include <cstdint>
#include <deque>
#include <optional>

namespace noised {

/// One quantum, of time or of work, of a CPU.
struct Quantum {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t iterations = 0;   ///< of the loop
  std::uint64_t detour_ns = 0;    ///< of it in detours
  std::uint64_t interval_ns = 0;  ///< of it in intervals, each instant once
  std::uint64_t detours = 0;
  bool fragment = false;  ///< of time: it began where its series did, somewhere between the ends of two quanta

  [[nodiscard]] std::uint64_t length_ns() const { return end_ns - start_ns; }
};

/// Makes quanta out of what a recording tells of one CPU, in the order in which it does: every interval and detour of
/// a quantum before the sample at its end.
class QuantumSeries {
 public:
  /// An interval; those nested in it came before.
  void add(const Interval& interval);
  void add(const Detour& detour);
  /// Something is missing here: the next sample ends no quantum.
  void interrupt() { start_ns_.reset(); }
  /// The end of a quantum; nothing where its start is not known. An iteration count of 0 starts a series.
  std::optional<Quantum> sample(std::uint64_t end_ns, std::uint64_t iterations);

 private:
  std::uint64_t take_intervals(std::uint64_t start_ns, std::uint64_t end_ns);

  std::optional<std::uint64_t> start_ns_;
  bool begun_ = false;  // the sample there began a series
  std::uint64_t detour_ns_ = 0;
  std::uint64_t detours_ = 0;
  std::deque<Interval> outermost_;  // without overlap, rising; those of one drain at most
};

}  // namespace noised
