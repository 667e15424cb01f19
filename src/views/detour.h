// SPDX-License-Identifier: Apache-2.0
// The line that stands in a stream of detours for those its reader was too slow to receive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/views.h"

namespace noised::views {

// When a detour began, for people.

enum class ShownClock {
  boot,   ///< since the machine was booted: CLOCK_MONOTONIC
  wall,   ///< of the day, UTC
  start,  ///< since the daemon's or the recording's
};

struct StartClock {
  ShownClock clock = ShownClock::boot;
  std::uint64_t zero_ns = 0;  ///< wall: what is to be added to CLOCK_MONOTONIC; start: when that was
};

/// "82378.055999 s", "2026-11-27T20:50:15.123456Z", "+3.141593 s" or "-0.000001 s".
std::string start_text(std::uint64_t start_ns, const StartClock& clock);
/// As to_text(DetourView), by this clock.
std::string to_text(const DetourView& detour, const StartClock& clock);

// The details of an entry of a detour as people say them.

/// "pid 42, woken by systemd[1] on CPU 0, of /system.slice/cron.service"; empty without details. Details that are no
/// part of a chain follow as "name value".
std::string chain_text(const DetourEntryView& entry);

/// {"lost_detours":N}, without the newline.
std::string lost_line_json(std::uint64_t detours);

/// The number of detours skipped if the line is such a line.
std::optional<std::uint64_t> parse_lost_line(std::string_view line);

/// The line for people, without the newline.
std::string lost_line_text(std::uint64_t detours);

}  // namespace noised::views
