// SPDX-License-Identifier: Apache-2.0
// Do two ways of measuring the same say the same? Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/quanta.h"

namespace noised {

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

/// What FTQ says of a CPU against the ledger. FTQ's basic operation is an iteration; it takes the least time that was
/// seen, as where N_max are done in a quantum (Morari 2011, III.A).
class FtqAgreement {
 public:
  /// First pass: all quanta, to know the time of an iteration.
  void calibrate(const Quantum& quantum);
  /// Second pass: all of them again.
  void compare(const Quantum& quantum);

  /// Shortest time of an iteration in any quantum, in ns; 0 if there was none.
  [[nodiscard]] double iteration_ns() const { return iteration_ns_; }
  /// Noise of a quantum by its missing work: (N_max - N) iterations, where N_max fit into its length.
  [[nodiscard]] double missing_ns(const Quantum& quantum) const;

  [[nodiscard]] const Agreement& with_detours() const { return detours_; }
  [[nodiscard]] const Agreement& with_intervals() const { return intervals_; }
  /// In quanta without a detour: what FTQ takes for noise although nothing took the CPU (the loop was not as fast as in
  /// its best quantum).
  [[nodiscard]] const Agreement& in_quiet() const { return quiet_; }

 private:
  double iteration_ns_ = 0;
  Agreement detours_;
  Agreement intervals_;
  Agreement quiet_;
};

}  // namespace noised
