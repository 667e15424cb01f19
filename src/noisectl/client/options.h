// SPDX-License-Identifier: Apache-2.0
// What the user asked for, as far as commands share it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "probe/footprint.h"

namespace noised::client {

/// What every command takes.
struct SharedOptions {
  std::string socket = "/run/noised/noised.sock";
  std::string replay;  ///< a recording to show in place of a daemon; empty: none
};

/// Phases of fixed work that a daemon is to run in place of its loop.
struct PhaseChoice {
  std::uint64_t grain_ns = 0;        ///< how long each is; 0: none, its loop
  probe::FootprintChoice footprint;  ///< that they walk through
  std::string policy;                ///< theirs, "other" or "fifo"; empty: the daemon's
};

/// What Measured takes.
struct MeasureOptions : SharedOptions {
  std::optional<std::uint64_t> duration_ns;  ///< of a daemon: record so long
  PhaseChoice phases;                        ///< meanwhile
  bool needs_loop = true;                    ///< its figures are a loop's: there are none where tasks were watched
};

}  // namespace noised::client
