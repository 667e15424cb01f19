// SPDX-License-Identifier: Apache-2.0
// From a snapshot to the results that users see.
#pragma once

#include "model/report.h"
#include "model/views.h"

#include <string>
#include <vector>

#include "account/snapshot.h"
#include "model/sources.h"

namespace noised::account {

/// What does not change while the daemon runs.
struct RunDescription {
  std::string host;
  std::string kernel;
  std::string start;  ///< RFC 3339, UTC
  std::vector<std::string> unsupported;
};

Report build_report(const Snapshot& snapshot, const SourceTable& sources, const RunDescription& run);
/// The report of the last minute, from a snapshot of that detail: `elapsed_ns` is how long it was, counts are of that
/// time, CPUs tell their longest detour. Without combinations and containment; `start` is for the caller to say.
Report build_recent(const Snapshot& snapshot, const SourceTable& sources, const RunDescription& run);
HistogramView build_histograms(const Snapshot& snapshot, const SourceTable& sources);

}  // namespace noised::account
