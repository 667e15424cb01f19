// SPDX-License-Identifier: Apache-2.0
// noisectl watch: what the kernel and other tasks take from an application's tasks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "noisectl/watch/watch_printer.h"

namespace noised::client {

/// Watches the tasks that the options select until they have ended, the time is over or a signal comes; then prints the
/// report. With options.run: runs that command, watched from its first instruction to its end.
Status run_watch(const TaskWatchOptions& options);

/// What to ask the daemon for: the options' selection, or `pids` in its place.
std::string watch_path(const TaskWatchOptions& options, const std::vector<std::uint32_t>& pids);

}  // namespace noised::client
