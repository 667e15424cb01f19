// SPDX-License-Identifier: Apache-2.0
// noisectl advise: what to set, and what it would give.
#pragma once

#include <noised/result.h>

#include "noisectl/options.h"

namespace noised::client {

/// Prints the advice; changes nothing.
Status run_advise(const Options& options);

}  // namespace noised::client
