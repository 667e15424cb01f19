// SPDX-License-Identifier: Apache-2.0
// The phases that an application marked: their part of a watch, as text.
#pragma once

#include <string>

#include "model/watch.h"

namespace noised::views {

/// A table of the phases, who took what from each, what made the late ones late, and what that costs a job; empty
/// without marks.
std::string marked_text(const WatchReport& report);

}  // namespace noised::views
