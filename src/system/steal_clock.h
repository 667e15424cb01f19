// SPDX-License-Identifier: Apache-2.0
// The time that the hypervisor says it took from each CPU.
#pragma once

#include <noised/result.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/descriptor.h"

namespace noised {

/// Puts steal time by CPU number into `stolen_ns`, from the text of /proc/stat; CPUs that it does not list (offline)
/// keep what they had, or 0.
void parse_steal(std::string_view stat, std::uint64_t step_ns, std::vector<std::uint64_t>& stolen_ns);

/// /proc/stat, kept open. It moves in steps of the kernel's clock (10 ms); the per-CPU variable in nanoseconds behind
/// it cannot be reached where kallsyms has no per-CPU symbols.
class StealClock {
 public:
  static Result<StealClock> open();

  /// Steal time since boot by CPU number, in ns; the last answer again if /proc/stat cannot be read. Two system calls.
  const std::vector<std::uint64_t>& read();
  /// How coarse it is, in ns.
  [[nodiscard]] static std::uint64_t step_ns();
  /// True if any was ever counted: else this hypervisor tells nothing.
  [[nodiscard]] bool counts();

 private:
  explicit StealClock(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;
  std::vector<char> text_;
  std::vector<std::uint64_t> stolen_ns_;
};

}  // namespace noised
