// SPDX-License-Identifier: Apache-2.0
// What the kernel counts of a thread: /proc/PID/status, schedstat and getrusage(2).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

#include "base/files.h"

namespace noised::victim {

struct KernelCounts {
  std::uint64_t voluntary = 0;    ///< times switched out to wait for something
  std::uint64_t involuntary = 0;  ///< times switched out while it could have run on
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t run_ns = 0;      ///< on a CPU; as of the last tick or switch
  std::uint64_t wait_ns = 0;     ///< runnable without a CPU
  std::uint64_t timeslices = 0;  ///< times switched in

  /// From `begin` to this.
  [[nodiscard]] KernelCounts since(const KernelCounts& begin) const;
};

/// Fills in what /proc/PID/status tells; fails when a count is not there.
Status parse_status_counts(std::string_view text, KernelCounts& counts);
/// Fills in what /proc/PID/schedstat tells.
Status parse_schedstat(std::string_view text, KernelCounts& counts);

/// The counts of the thread that opened it; its files stay open, so that reading is all that is left to do.
class KernelCounter {
 public:
  static Result<KernelCounter> open();
  [[nodiscard]] Result<KernelCounts> read() const;

 private:
  KernelCounter(Descriptor status, Descriptor schedstat)
      : status_(std::move(status)), schedstat_(std::move(schedstat)) {}

  Descriptor status_;
  Descriptor schedstat_;
};

}  // namespace noised::victim
