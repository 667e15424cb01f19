// SPDX-License-Identifier: Apache-2.0
// What the pipeline waits for: its next drain, the end of the measurement, or a signal to stop.
#pragma once

#include <noised/result.h>

#include <cstdint>
#include <optional>

#include "base/descriptor.h"

namespace noised {

enum class Tick : std::uint8_t { drain, reload, stop };

struct TickerOptions {
  std::uint64_t interval_ns = 0;
  std::optional<std::uint64_t> duration_ns;  ///< then stop
  int asked_descriptor = -1;                 ///< eventfd; readable: a drain is wanted at once; -1: never
  bool reload_on_hangup = false;             ///< SIGHUP asks to reload; else it stops
};

class Ticker {
 public:
  /// The stop signals must be blocked in all threads (block_stop_signals).
  static Result<Ticker> create(const TickerOptions& options);

  /// Waits for the next tick, several missed ones being one, or for somebody who asks, or for a signal.
  Result<Tick> wait();
  /// From now on, a tick every `interval_ns`.
  Status set_interval(std::uint64_t interval_ns);

 private:
  Ticker() = default;
  [[nodiscard]] Tick signalled() const;

  Descriptor timer_;
  Descriptor signals_;
  std::optional<std::uint64_t> end_ns_;
  int asked_ = -1;
  bool reload_on_hangup_ = false;
};

/// Keeps SIGINT, SIGTERM, SIGHUP and SIGPIPE from ending the process; a Ticker reads the first three.
void block_stop_signals();

}  // namespace noised
