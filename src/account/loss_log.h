// SPDX-License-Identifier: Apache-2.0
// Each loss of watched tasks, for somebody who joins them with what the tasks did meanwhile. Pure: no clock, no I/O.
#pragma once

#include "model/types.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "account/attributor.h"
#include "account/task_run.h"
#include "model/sources.h"

namespace noised::account {

/// Losses with the time of each source, in bounded memory: those that have no room are counted.
class LossLog {
 public:
  static constexpr std::size_t kLosses = 32768;  ///< 1.3 MiB
  static constexpr std::size_t kParts = 131072;  ///< 2 MiB

  struct Part {
    SourceId source = 0;
    std::uint64_t ns = 0;
  };
  struct Entry {
    std::uint32_t pid = 0;
    bool incomplete = false;
    std::uint64_t start_ns = 0;
    std::uint64_t duration_ns = 0;  ///< the sum of its parts
    std::size_t first_part = 0;
    std::size_t parts = 0;
  };

  /// A task of the group had a CPU.
  void ran(std::uint32_t pid);
  /// Adds a loss that was divided.
  void add(const Loss& loss, const DetourLedger& ledger, const SourceTable& sources);
  /// Adds what another one holds, which is empty then.
  void take(LossLog& other);

  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }
  /// Who ran, some several times.
  [[nodiscard]] std::span<const std::uint32_t> ran() const { return ran_; }
  [[nodiscard]] std::span<const Part> parts_of(const Entry& entry) const {
    return std::span(parts_).subspan(entry.first_part, entry.parts);
  }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  void clear();

 private:
  void add_part(std::size_t first, SourceId source, std::uint64_t ns);

  std::vector<Entry> entries_;
  std::vector<Part> parts_;
  std::vector<std::uint32_t> ran_;
  std::uint64_t dropped_ = 0;
};

/// What is known of the losses of a group up to a moment.
struct LossBatch {
  LossLog log;                   ///< since the batch before
  std::uint64_t settled_ns = 0;  ///< every loss that ended by then was told, but for the waits that ended as these
                                 ///< runs of tasks that still have their CPU began: pid, start
  std::vector<std::pair<std::uint32_t, std::uint64_t>> running;
};

}  // namespace noised::account
