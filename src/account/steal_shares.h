// SPDX-License-Identifier: Apache-2.0
// What a host stole from a CPU, divided among those who had it meanwhile. Pure: no clock, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace noised::account {

/// Of one CPU. Its steal clock tells how much was stolen since it was read before, not when: each account has as large
/// a share of it as of the time for which any task had the CPU. An idle CPU loses nothing.
class StealShares {
 public:
  explicit StealShares(std::size_t accounts) : ran_ns_(accounts, 0) {}

  /// A task had the CPU from `start_ns` to `end_ns`. Returns how much of that was not told before.
  std::uint64_t ran(std::uint64_t start_ns, std::uint64_t end_ns);
  /// One has it since `start_ns`, and goes on. Likewise.
  std::uint64_t runs(std::uint64_t start_ns, std::uint64_t now_ns);
  /// So much of it was a task's of this account.
  void ran_for(std::size_t account, std::uint64_t ns) { ran_ns_[account] += ns; }
  /// An account begins: what had this number before is forgotten.
  void begin(std::size_t account) { ran_ns_[account] = 0; }
  /// The share of this account, if so much was stolen.
  [[nodiscard]] std::uint64_t share_of(std::size_t account, std::uint64_t stolen_ns) const;
  /// The steal clock was read.
  void clear();

 private:
  std::uint64_t all_ns_ = 0;
  std::vector<std::uint64_t> ran_ns_;  // by account
  std::uint64_t run_start_ns_ = 0;     // of the run that was last told before its end,
  std::uint64_t told_until_ns_ = 0;    // and until when it was
};

}  // namespace noised::account
