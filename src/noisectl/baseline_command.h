// SPDX-License-Identifier: Apache-2.0
// noisectl baseline: keeps what a machine is like in a file, and says what has changed since.
#pragma once

#include <noised/result.h>

#include "noisectl/options.h"

namespace noised::client {

/// Creates options.output from what is measured, or from a recording.
Status save_baseline(const Options& options);

/// Prints what is different from options.input; where something is, that is the error, with exit code 3.
Status diff_baseline(const Options& options);

}  // namespace noised::client
