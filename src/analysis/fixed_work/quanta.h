// SPDX-License-Identifier: Apache-2.0
// The loop's work in each quantum beside what detours and intervals took of it (FTQ: Sottile and Minnich 2004; Morari
// 2011, figure 1). Pure: no clock, no I/O.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>

#include "model/types.h"

namespace noised::analysis {

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

/// A row of FTQ: one for each quantum of the clock, whatever the loop did in it.
struct FtqRow {
  std::uint64_t start_ns = 0;    ///< when its work began; of one that a detour swallowed, that detour's end, as in FTQ
  std::uint64_t iterations = 0;  ///< 0: swallowed
  std::uint64_t unobserved = 0;  ///< so many quanta between the row before and this one were not observed
};

/// Makes rows out of quanta that end where the loop was back. The grid is the clock's: of one that ends after three
/// ends of quanta, one row has its work, and two have none.
class FtqRows {
 public:
  using Use = std::function<void(const FtqRow&)>;
  /// `quantum_ns` is more than 0.
  explicit FtqRows(std::uint64_t quantum_ns);

  /// The next quantum; gives `use` the rows that are whole by then.
  void add(const Quantum& quantum, const Use& use);
  /// No more will come.
  void finish(const Use& use);

 private:
  std::uint64_t quantum_ns_;
  std::uint64_t slack_ns_;  // so close to the end of a quantum is at it
  std::optional<std::uint64_t> end_ns_;
  std::uint64_t late_ns_ = 0;    // after the end of a quantum, end_ns_ was
  std::uint64_t left_out_ = 0;   // of a detour of more than a million quanta, its rows
  std::optional<FtqRow> begun_;  // the last row: what follows may belong to it
};

// Do two ways of measuring the same say the same? Pure.

/// Two series beside each other, in one pass (Welford).
class Agreement {
 public:
  /// One pair: what is checked, and what it is checked against.
  void add(double value, double reference);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// Pearson's correlation, -1 to 1; nothing where one of them never changes.
  [[nodiscard]] std::optional<double> correlation() const;
  /// Mean of value - reference, and its standard deviation.
  [[nodiscard]] double bias() const { return mean_value_ - mean_reference_; }
  [[nodiscard]] double bias_deviation() const;
  [[nodiscard]] double mean_value() const { return mean_value_; }
  [[nodiscard]] double mean_reference() const { return mean_reference_; }

 private:
  std::uint64_t count_ = 0;
  double mean_value_ = 0;
  double mean_reference_ = 0;
  double squares_value_ = 0;
  double squares_reference_ = 0;
  double products_ = 0;
};

/// What FTQ says of a CPU against the ledger. FTQ's basic operation is an iteration; how long it takes without noise is
/// read off the quanta in which it was fastest, as where N_max are done in a quantum (Morari 2011, III.A).
class FtqAgreement {
 public:
  /// Of all quanta, the share that is at least as fast. The fastest of all may be so by chance, or by a clock that was
  /// raised for a moment: then all others would have noise.
  static constexpr double kFast = 0.01;

  /// First pass: all quanta, to know the time of an iteration.
  void calibrate(const Quantum& quantum);
  /// Second pass: all of them again.
  void compare(const Quantum& quantum);

  /// Time of an iteration in the quantum that kFast of all are as fast as, in ns, to 1 part in 10,000; 0 if there was
  /// none.
  [[nodiscard]] double iteration_ns() const;
  /// Noise of a quantum by its missing work: (N_max - N) iterations, where N_max fit into its length.
  [[nodiscard]] double missing_ns(const Quantum& quantum) const;

  [[nodiscard]] const Agreement& with_detours() const { return detours_; }
  [[nodiscard]] const Agreement& with_intervals() const { return intervals_; }
  /// In quanta without a detour: what FTQ takes for noise although nothing took the CPU (the loop was not as fast as in
  /// its best quantum).
  [[nodiscard]] const Agreement& in_quiet() const { return quiet_; }

 private:
  struct Alike {
    std::uint64_t count = 0;
    double sum_ns = 0;
  };
  std::map<std::int64_t, Alike> calibrated_;  // by time of an iteration, in steps of 1 part in 10,000
  std::uint64_t calibrated_count_ = 0;
  mutable std::optional<double> iteration_ns_;
  Agreement detours_;
  Agreement intervals_;
  Agreement quiet_;
};

}  // namespace noised::analysis
