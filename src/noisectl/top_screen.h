// SPDX-License-Identifier: Apache-2.0
// The live view on a terminal.
#pragma once

#include <noised/result.h>

#include "noisectl/options.h"

namespace noised::client {

/// Shows the live view until the user, a signal or --duration ends it; a usage error if there is no terminal.
Status run_top(const Options& options);

}  // namespace noised::client
