// SPDX-License-Identifier: Apache-2.0
// Commands whose figures are of a loop that was interrupted: there are none of them where tasks were watched.
#pragma once

#include <string_view>

#include <noised/result.h>

#include "noisectl/options.h"

namespace noised::client {

/// An error if the options ask for such a command, and this is not how a daemon measures that has loops.
Status check_loops(const Options& options, std::string_view mode);

}  // namespace noised::client
