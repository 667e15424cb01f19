// SPDX-License-Identifier: Apache-2.0
// noisectl density: what the loop saw beside what the kernel told.
#pragma once

#include <noised/result.h>

#include "noisectl/options.h"

namespace noised::client {

/// Prints both densities and their distance.
Status run_density(const Options& options);

}  // namespace noised::client
