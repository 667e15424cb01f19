// SPDX-License-Identifier: Apache-2.0
// The two small files of a Paraver trace: what its numbers mean, and what its rows are called.
#pragma once

#include <string>
#include <vector>

#include "recording/player.h"

namespace noised::exports {

/// "2026-01-31T12:34:56Z" as "31/01/2026 at 12:34"; another text is not repeated.
std::string paraver_date(const std::string& start);
/// The .pcf: names and colours of states, names of events and of what could not be seen. After everything was played:
/// sources are known then.
std::string paraver_config(const recording::Playback& playback, const std::vector<std::string>& unsupported);
/// The .row: names of the CPUs, the node, and the loops on them.
std::string paraver_rows(const recording::Playback& playback);

}  // namespace noised::exports
