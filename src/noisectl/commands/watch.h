// SPDX-License-Identifier: Apache-2.0
// noisectl watch: what the kernel and other tasks take from an application's tasks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <noised/result.h>

#include "noisectl/options.h"

namespace noised::client {

/// Watches the tasks that the options select until they have ended, the time is over or a signal comes; then prints the
/// report.
Status run_watch(const Options& options);

/// What to ask the daemon for: the options' selection, or `pids` in its place.
std::string watch_path(const Options& options, const std::vector<std::uint32_t>& pids);

}  // namespace noised::client
