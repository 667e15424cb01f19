// SPDX-License-Identifier: Apache-2.0
// What the pipeline waits for: its next drain, the end of the measurement, or a signal to stop.
#pragma once

#include <noised/result.h>

#include <cstdint>
#include <optional>

#include "base/descriptor.h"

namespace noised {

struct Tick {
  bool end = false;          ///< the duration is over, or SIGINT or SIGTERM came
  std::uint64_t now_ns = 0;  ///< CLOCK_MONOTONIC
};

class Ticker {
 public:
  /// A tick every `interval_ns` until `duration_ns` from now are over. SIGINT and SIGTERM must be blocked in all
  /// threads (block_stop_signals).
  static Result<Ticker> create(std::uint64_t interval_ns, std::optional<std::uint64_t> duration_ns);

  /// Waits for the next tick; missed ticks are one.
  Result<Tick> wait();

 private:
  Ticker() = default;

  Descriptor timer_;
  Descriptor signals_;
  std::optional<std::uint64_t> end_ns_;
};

/// Keeps SIGINT, SIGTERM and SIGPIPE from ending the process; a Ticker reads the first two.
void block_stop_signals();

}  // namespace noised
