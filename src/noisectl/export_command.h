// SPDX-License-Identifier: Apache-2.0
// noisectl export: a recording in the formats of other tools.
#pragma once

#include <noised/result.h>

#include "noisectl/options.h"

namespace noised::client {

/// Creates options.output from options.input, or from what Measured gives.
Status run_export(const Options& options);

}  // namespace noised::client
