// SPDX-License-Identifier: Apache-2.0
// The ledger of a loss: whose each of its nanoseconds was. Pure: no clock, no I/O.
#pragma once

#include <cstdint>
#include <span>

#include "attribution/ledger.h"
#include "attribution/overhead_bounds.h"
#include "watch/task_run.h"

namespace noised {

/// Learns from the losses what switches and wakeups cost on this machine.
class LossLedger {
 public:
  /// The result is valid until the next call. A wait in which nobody had the CPU is what it costs to wake it up, up to
  /// a bound learned from such waits; the rest is, like any gap without kernel activity, the hypervisor's or
  /// hardware's.
  Ledger& divide(const Loss& loss, std::span<const Interval> intervals);

 private:
  OverheadBounds bounds_;
  Attributor attributor_;
  Ledger ledger_;
};

}  // namespace noised
