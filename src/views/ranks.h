// SPDX-License-Identifier: Apache-2.0
// The ranks of parallel jobs, of a watch: their part of its page.
#pragma once

#include <string>

#include "model/watch.h"

namespace noised::views {

/// The ranks for people, the one that lost most first, and what is not in them; empty without ranks.
std::string ranks_text(const WatchReport& report);

}  // namespace noised::views
