// SPDX-License-Identifier: Apache-2.0
// What the pipeline waits for: its next drain, the end of the measurement, or a signal to stop.
#pragma once

#include <noised/result.h>

#include <cstdint>
#include <optional>

#include "base/descriptor.h"

namespace noised {

class Ticker {
 public:
  /// A tick every `interval_ns` until `duration_ns` from now are over. The stop signals must be blocked in all threads
  /// (block_stop_signals).
  static Result<Ticker> create(std::uint64_t interval_ns, std::optional<std::uint64_t> duration_ns);

  /// Waits for the next tick, several missed ones being one. True: the duration is over, or a stop signal came.
  Result<bool> wait();

 private:
  Ticker() = default;

  Descriptor timer_;
  Descriptor signals_;
  std::optional<std::uint64_t> end_ns_;
};

/// Keeps SIGINT, SIGTERM, SIGHUP and SIGPIPE from ending the process; a Ticker reads the first three.
void block_stop_signals();

}  // namespace noised
