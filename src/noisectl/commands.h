// SPDX-License-Identifier: Apache-2.0
// The commands: ask, and show.
#pragma once

#include <noised/result.h>

#include "noisectl/options.h"

namespace noised::client {

/// Parses the command line and does what it asks, on standard output.
Status run_command_line(int argc, const char* const* argv);

/// Runs one command.
Status run(const Options& options);

}  // namespace noised::client
