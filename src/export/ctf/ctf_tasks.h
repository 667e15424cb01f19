// SPDX-License-Identifier: Apache-2.0
// Watched tasks as streams of the Common Trace Format.
#pragma once

#include "base/result.h"

#include <cstdint>

#include "export/export.h"
#include "export/new_file.h"

namespace noised::exports {

/// Three streams for each CPU, each in order of time: its intervals, interruptions of tasks there, and their runs with
/// the waits before them. Each is told by one event, when it ended. Returns how many got a later time.
Result<std::uint64_t> write_ctf_tasks(recording::Player& player, NewDirectory& directory, const Progress& progress);

}  // namespace noised::exports
