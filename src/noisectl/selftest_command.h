// SPDX-License-Identifier: Apache-2.0
// noisectl selftest: does the daemon tell the truth about noise that is known?
#pragma once

#include <noised/result.h>

#include "noisectl/options.h"

namespace noised::client {

/// Makes each kind of noise on a probed CPU, prints what was done and what was found, and fails unless all that this
/// kernel allows was found.
Status run_selftest(const Options& options);

}  // namespace noised::client
