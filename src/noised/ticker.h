// SPDX-License-Identifier: Apache-2.0
// What the pipeline waits for: its next drain, the end of the measurement, or a signal to stop.
#pragma once

#include <cstdint>
#include <optional>

#include "base/files.h"
#include "base/result.h"

namespace noised::daemon {

// How long to wait for the next drain where every CPU is the job's. Pure: no clock, no I/O.

/// A drain costs the same whether something happened or not: 45 system calls to learn that no run was missed, a switch
/// to the daemon and back. So where little happens it comes four times as rarely.
class DrainPace {
 public:
  static constexpr unsigned kRarely = 4;
  /// Of the fullest ring, per configured interval: with more it comes as often as configured, at once.
  static constexpr double kLittle = 1.0 / 32;
  /// So many drains with less, one after the other, until it comes rarely: a second, if every 25 ms.
  static constexpr unsigned kCalm = 40;

  /// The factor of the configured interval until the next drain: 1 or kRarely. `fullness`: share of its room that the
  /// fullest ring had taken at this one.
  unsigned next(double fullness);

 private:
  unsigned calm_ = 0;
  unsigned factor_ = 1;
};

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
  void set_interval(std::uint64_t interval_ns);

 private:
  Ticker() = default;
  [[nodiscard]] Tick signalled() const;

  Descriptor signals_;
  std::uint64_t interval_ns_ = 0;
  std::uint64_t due_ns_ = 0;
  std::optional<std::uint64_t> end_ns_;
  int asked_ = -1;
  bool reload_on_hangup_ = false;
};

/// Keeps SIGINT, SIGTERM, SIGHUP and SIGPIPE from ending the process; a Ticker reads the first three.
void block_stop_signals();

}  // namespace noised::daemon
