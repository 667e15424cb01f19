// SPDX-License-Identifier: Apache-2.0
// The tracepoints that noised knows, and what each pair of them tells.
#pragma once

#include <noised/types.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "trace/watching.h"

namespace noised {

/// What a probe tells.
enum class Role : std::uint8_t {
  interval,  ///< of an interval on a watched CPU
  instant,   ///< the same without a duration; only where a loop measures
  origin,    ///< of what another CPU does to a watched one
  task,      ///< of a task; only where tasks are watched
  arrival,   ///< of a task for which a loop steps aside; only where both are watched
};

/// Whether a probe of this role is wanted.
bool is_wanted(Role role, const Watching& watching);

/// One thing that can be seen: its tracepoints and the kind of source that they feed.
struct Probe {
  Kind kind;
  std::string_view source;  ///< "local_timer", or empty where the kind says it all
  std::string_view entry;   ///< tracepoint
  std::string_view exit;    ///< tracepoint; empty where one event tells everything
  bool essential = false;   ///< without it, attributions would be wrong rather than incomplete
  Role role = Role::interval;
};

/// True if this tracepoint can be hit while its program runs on the same CPU: the kernel then refuses the second run.
bool may_recur(std::string_view tracepoint);

/// All of them; every program of bpf/ on a tracepoint appears exactly once.
std::span<const Probe> known_probes();

/// The function whose entry and exit time the handling of page faults, where the kernel lets functions be traced.
inline constexpr std::string_view kFaultHandler = "handle_mm_fault";

}  // namespace noised
