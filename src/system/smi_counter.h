// SPDX-License-Identifier: Apache-2.0
// How often the firmware took a CPU away: Intel counts its system management interrupts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/files.h"

namespace noised::system {

/// To be read by a thread on the CPU itself, when it does not measure: from elsewhere a read is an interrupt there.
class SmiCounter {
 public:
  /// Answers nothing.
  SmiCounter() = default;
  /// Opens the CPU's model specific registers; where there is no such counter, read() answers nothing.
  static SmiCounter open(unsigned cpu);

  /// MSR_SMI_COUNT (0x34): interrupts since reset, modulo 2^32.
  [[nodiscard]] std::optional<std::uint32_t> read() const;

 private:
  explicit SmiCounter(Descriptor registers) : registers_(std::move(registers)) {}
  Descriptor registers_;
};

/// Why SMIs are not counted on this machine; nothing if they are. Does not read any CPU's registers.
std::optional<std::string> smi_unsupported(unsigned cpu);

}  // namespace noised::system
