// SPDX-License-Identifier: Apache-2.0
// The commands that show what was measured, from a recording in place of a daemon.
#pragma once

#include <noised/result.h>

#include "noisectl/options.h"

namespace noised::client {

/// Fails, after it has shown everything before the damage, where the recording is damaged.
Status run_replay(const Options& options);

}  // namespace noised::client
