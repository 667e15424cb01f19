// SPDX-License-Identifier: Apache-2.0
// A recording in place of a daemon.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "noisectl/top/screen.h"
#include "recording/player.h"

namespace noised::client {

/// Opens the recording `path` and has `show` play and print it. Fails, after it has shown everything before the damage,
/// where the recording is damaged.
Status run_replay(const std::string& path, const std::function<Status(recording::Player&)>& show);

/// Plays options.replay in the live view, options.speed times as fast as it happened.
Status run_replay_top(const TopOptions& options);

}  // namespace noised::client
