// SPDX-License-Identifier: Apache-2.0
// What happened between two samples of the daemon: counters become rates. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/report.h"
#include "model/views.h"

namespace noised::client {

/// How far a recording was played when it took the place of the daemon.
struct TopReplay {
  std::uint64_t position_ns = 0;  ///< of recorded time, from the begin of the recording
  double speed = 0;               ///< times as fast as it happened, as reached so far
  bool ended = false;             ///< nothing more will come
  std::string problem;            ///< what of the recording cannot be shown; empty: nothing, as far as it was played
};

/// What the daemon said at one moment; the histogram and the status may be missing.
struct TopSample {
  Report report;
  std::optional<HistogramView> histogram;
  std::optional<StatusView> status;
  std::optional<TopReplay> replay;  ///< if it was no daemon
};

/// Which source, and where.
struct TopKey {
  unsigned cpu = 0;
  std::string label;  ///< label_of()
  bool operator==(const TopKey&) const = default;
};

/// "kind:name", or "hypervisor" where both are the same.
std::string label_of(const std::string& kind, const std::string& name);

/// A CPU over the interval. Shares are of the time observed there, 1 being all of it.
struct TopCpu {
  unsigned cpu = 0;
  double noise_share = 0;
  double detours_per_second = 0;
  std::uint64_t interval_max_ns = 0;  ///< largest detour of the interval, exact or at most 1/64 above; 0: none seen
  std::uint64_t max_ns = 0;           ///< largest since the daemon started
  double explained_share = 0;
  double overhead_share = 0;
  double hypervisor_share = 0;
  double hardware_share = 0;
  double unexplained_share = 0;
};

/// A source over the interval.
struct TopSource {
  TopKey key;
  std::string category;
  std::uint64_t count = 0;
  double per_second = 0;
  double stolen_share = 0;    ///< of the time observed on that CPU; times 1e9, it is nanoseconds a second
  std::uint64_t mean_ns = 0;  ///< over the interval; 0 if it did not occur
  std::uint64_t max_ns = 0;   ///< since the daemon started
};

struct TopDelta {
  std::uint64_t interval_ns = 0;
  std::vector<TopCpu> cpus;
  std::vector<TopSource> sources;  ///< in the order of the report
};

/// True if `after` does not continue `before`: another daemon, or one that started anew.
bool restarted(const Report& before, const Report& after);

/// The change from `before` to `after`, which must continue it; from an empty sample, everything so far.
TopDelta difference(const TopSample& before, const TopSample& after);

}  // namespace noised::client
