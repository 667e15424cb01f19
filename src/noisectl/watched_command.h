// SPDX-License-Identifier: Apache-2.0
// noisectl watch -- COMMAND: runs it, watched from its first instruction to its end.
#pragma once

#include <noised/result.h>

#include "noisectl/options.h"

namespace noised::client {

/// Runs options.run, which keeps the standard streams, and prints the report to standard error. The error has the
/// command's exit code if that is not 0, without words where the command will have said itself why. If watching cannot
/// begin, the command is not started.
Status run_watched_command(const Options& options);

}  // namespace noised::client
