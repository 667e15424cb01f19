// SPDX-License-Identifier: Apache-2.0
// The ranks of parallel jobs, of a watch: their part of its JSON and of its page.
#pragma once

#include <string>

#include <noised/watch.h>

#include "views/json_fields.h"

namespace noised::views {

/// Adds "ranks" and "rank_unknown", if there are ranks.
void add_ranks(const WatchReport& report, Json& json);
/// Reads what add_ranks wrote, if it is there.
void read_ranks(const Fields& fields, WatchReport& report);
/// The ranks for people, the one that lost most first, and what is not in them; empty without ranks.
std::string ranks_text(const WatchReport& report);

}  // namespace noised::views
