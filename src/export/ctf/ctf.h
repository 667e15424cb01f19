// SPDX-License-Identifier: Apache-2.0
// For babeltrace2, Trace Compass and what else reads the Common Trace Format, version 1.8.
#pragma once

#include "base/result.h"

#include <string>

#include "export/export.h"

namespace noised::exports {

/// Creates the directory `out` with a stream for each CPU, or three where tasks were watched; nothing of it stays if
/// something goes wrong. Times are CLOCK_MONOTONIC. Of a damaged recording everything before the damage is exported,
/// and the error tells where that is.
Status export_ctf(const Play& play, const std::string& out, const Progress& progress);

}  // namespace noised::exports
