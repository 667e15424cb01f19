// SPDX-License-Identifier: Apache-2.0
// For ui.perfetto.dev and trace_processor.
#pragma once

#include "base/result.h"

#include <string>

#include "export/export.h"

namespace noised::exports {

/// Creates a trace file of Perfetto: intervals, detours with their ledgers, who brought them about, and what was not
/// seen. Fails after it has exported what came before the damage where the recording is damaged.
Status export_perfetto(const Play& play, const std::string& out, const Progress& progress);

}  // namespace noised::exports
