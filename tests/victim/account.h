// SPDX-License-Identifier: Apache-2.0
// What the victim itself knows of the time that it lost.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

#include "victim/kernel_counts.h"

namespace noised::victim {

/// A stretch in which the victim wanted to run and did not: between two readings of its clock. The victim's own work
/// of one iteration (Account::iteration_ns) is in it.
struct Gap {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
};

/// A sleep of its own will, from start_ns until due_ns; until end_ns it was on its way back, which is its lateness:
/// the timer, an idle CPU that wakes up, and the wait in the run queue. Where it lost its CPU on the way to its sleep,
/// it is not known since when it slept, and start_ns is due_ns.
struct Sleep {
  std::uint64_t start_ns = 0;
  std::uint64_t due_ns = 0;
  std::uint64_t end_ns = 0;
};

/// Times are CLOCK_MONOTONIC in nanoseconds.
struct Account {
  unsigned pid = 0;
  unsigned cpu = 0;
  std::uint64_t threshold_ns = 0;  ///< no shorter gap is told
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
  std::uint64_t iterations = 0;
  std::uint64_t calls_ns = 0;     ///< in system calls, and sleeps not known; whatever was stolen there is not told
  std::uint64_t faults = 0;       ///< pages that it touched for the first time, on purpose
  std::uint64_t gaps_missed = 0;  ///< for which there was no room; sleeps too
  std::uint64_t clock_uncertainty_ns = 0;
  std::uint64_t steal_ns = 0;  ///< what the hypervisor says that it took from the CPU meanwhile, in steps of 10 ms
  KernelCounts status;
  std::vector<Gap> gaps;      ///< in order
  std::vector<Sleep> sleeps;  ///< in order

  [[nodiscard]] std::uint64_t lost_ns() const;
  [[nodiscard]] std::uint64_t voluntary_ns() const;  ///< asleep as long as it had asked for
  [[nodiscard]] std::uint64_t late_ns() const;
  /// Mean of an iteration that nothing longer than the threshold disturbed.
  [[nodiscard]] double iteration_ns() const;
};

/// The account as one JSON object, schema "noised.victim/1"; a gap is [start_ns, end_ns], a sleep [start, due, end].
std::string to_json(const Account& account);
/// Reads what to_json wrote; refuses gaps or sleeps that are not in order.
Result<Account> parse_account(std::string_view json);

}  // namespace noised::victim
