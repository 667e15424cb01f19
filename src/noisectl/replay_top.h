// SPDX-License-Identifier: Apache-2.0
// noisectl --replay FILE top: the live view of what was.
#pragma once

#include <noised/result.h>

#include "noisectl/options.h"

namespace noised::client {

/// Plays options.replay, options.speed times as fast as it happened.
Status run_replay_top(const Options& options);

}  // namespace noised::client
