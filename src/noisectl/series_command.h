// SPDX-License-Identifier: Apache-2.0
// noisectl ftq, fwq, selfish, latencytest: what was measured, in the forms in which others publish it.
#pragma once

#include <noised/result.h>

#include "noisectl/options.h"

namespace noised::client {

/// Prints what options.command says.
Status run_series(const Options& options);

}  // namespace noised::client
