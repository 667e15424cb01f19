// SPDX-License-Identifier: Apache-2.0
// For Paraver, as Morari et al. 2011 showed noise: each CPU a row, each kernel activity a state.
#pragma once

#include "base/result.h"

#include <string>

#include "export/export.h"

namespace noised::exports {

/// Whether there is room for those files, before anything is created.
Status can_export_paraver(const std::string& out);

/// Creates `out`.prv, .pcf and .row (a .prv at the end of `out` is not repeated); all three, or none if something goes
/// wrong. Times are in ns since the first thing in the recording. Of a damaged recording everything before the damage
/// is exported, and the error tells where that is.
Status export_paraver(const Play& play, const std::string& out, const Progress& progress);

}  // namespace noised::exports
