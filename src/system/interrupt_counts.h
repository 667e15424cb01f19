// SPDX-License-Identifier: Apache-2.0
// How often the kernel itself says that it interrupted each CPU, for what our programs see too.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "system/kernel_events.h"

namespace noised::system {

/// A row of /proc/interrupts, and the vectors (bits by enum noised_vector) whose records tell of the same interrupts.
struct InterruptRow {
  std::string label;  ///< "LOC"
  std::uint32_t vectors = 0;
};

/// The rows whose interrupts are all seen: those of which every tracepoint has a program.
std::vector<InterruptRow> seen_rows(const KernelEvents& kernel);

/// Adds up these rows by CPU number, from the text of /proc/interrupts. CPUs without a column (offline) are 0.
void parse_interrupts(std::string_view text, const std::vector<InterruptRow>& rows, std::vector<std::uint64_t>& counts);

/// /proc/interrupts, kept open. Reading it interrupts nobody; on a virtual machine with two CPUs it takes 50 us.
class InterruptCounts {
 public:
  /// `path` is /proc/interrupts but in tests.
  static Result<InterruptCounts> open(std::vector<InterruptRow> rows, const std::string& path = "/proc/interrupts");

  /// Counts since boot by CPU number; the last answer again if the file cannot be read. A system call for each 4 KiB or
  /// so of the table.
  const std::vector<std::uint64_t>& read();
  /// The vectors of all rows.
  [[nodiscard]] std::uint32_t vectors() const;

 private:
  InterruptCounts(Descriptor file, std::vector<InterruptRow> rows) : file_(std::move(file)), rows_(std::move(rows)) {}

  Descriptor file_;
  std::vector<InterruptRow> rows_;
  std::string text_;
  std::vector<std::uint64_t> counts_;
};

}  // namespace noised::system
