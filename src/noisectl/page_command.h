// SPDX-License-Identifier: Apache-2.0
// noisectl report --html: what was measured as one page.
#pragma once

#include <noised/result.h>

#include "noisectl/options.h"

namespace noised::client {

/// Creates options.html.
Status run_page(const Options& options);

}  // namespace noised::client
