// SPDX-License-Identifier: Apache-2.0
// The tracepoints that noised knows, and what each pair of them tells.
#pragma once

#include <noised/types.h>

#include <span>
#include <string_view>

namespace noised {

/// One thing that can be seen: its tracepoints and the kind of source that they feed.
struct Probe {
  Kind kind;
  std::string_view source;  ///< "local_timer", or empty where the kind says it all
  std::string_view entry;   ///< tracepoint
  std::string_view exit;    ///< tracepoint; empty where one event tells everything
  bool essential = false;   ///< without it, attributions would be wrong rather than incomplete
};

/// All of them; every program of bpf/ appears exactly once.
std::span<const Probe> known_probes();

}  // namespace noised
