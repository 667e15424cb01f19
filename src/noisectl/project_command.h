// SPDX-License-Identifier: Apache-2.0
// noisectl project: what this noise costs a job on many nodes, and what to do about it first.
#pragma once

#include <noised/result.h>

#include "noisectl/options.h"

namespace noised::client {

/// Prints the projection of options.grain_ns to options.nodes.
Status run_project(const Options& options);

}  // namespace noised::client
