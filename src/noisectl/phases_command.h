// SPDX-License-Identifier: Apache-2.0
// noisectl phases: how long a phase of fixed work takes, and what each source costs it.
#pragma once

#include <noised/result.h>

#include "noisectl/options.h"

namespace noised::client {

/// Prints the distribution of phases, and direct and indirect cost by source.
Status run_phases(const Options& options);

}  // namespace noised::client
