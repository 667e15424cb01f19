// SPDX-License-Identifier: Apache-2.0
// The phases that an application marked: their part of a watch, as JSON and as text.
#pragma once

#include <string>

#include <noised/watch.h>

#include "views/json_fields.h"

namespace noised::views {

/// Adds "marks" and "phases", of a watch that has them, to its JSON. A group's fields have its name before them; those
/// of all phases do not.
void add_marked(const WatchReport& report, Json& json);
/// Reads what add_marked added.
void read_marked(const Fields& fields, WatchReport& report);

/// A table of the phases, who took what from each, what made the late ones late, and what that costs a job; empty
/// without marks.
std::string marked_text(const WatchReport& report);

}  // namespace noised::views
