// SPDX-License-Identifier: Apache-2.0
// Which part of the time without kernel activity the hypervisor took, by its own account. Pure: no clock, no I/O.
#pragma once

#include <cstdint>

namespace noised {

/// A virtual machine's steal clock moves in steps and late, so the account may be overdrawn by one step: over any run,
/// what it calls the hypervisor's is at most the steal time counted plus one step.
class StealAccount {
 public:
  explicit StealAccount(std::uint64_t step_ns) : step_ns_(step_ns) {}

  /// The steal clock moved on by this much since the last call. What nothing was booked on since the call before goes:
  /// it was stolen from something else than the gaps that are asked about.
  void add(std::uint64_t stolen_ns);
  /// The part of a gap that the hypervisor took; the rest is the hardware's.
  std::uint64_t cover(std::uint64_t gap_ns);
  /// All steal time counted so far.
  [[nodiscard]] std::uint64_t stolen_ns() const { return stolen_ns_; }
  [[nodiscard]] std::uint64_t step_ns() const { return step_ns_; }

 private:
  std::uint64_t step_ns_;
  std::uint64_t stolen_ns_ = 0;
  std::uint64_t recent_ns_ = 0;  // of credit_ns_, counted by the last call
  std::uint64_t credit_ns_ = 0;  // counted, and not booked
  std::uint64_t debt_ns_ = 0;    // booked before it was counted; never more than one step
};

}  // namespace noised
