// SPDX-License-Identifier: Apache-2.0
// noisectl report: the report in the form that was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "noisectl/client/options.h"
#include "views/report.h"

namespace noised::client {

using ReportBy = views::ReportTable;

struct ReportOptions : MeasureOptions {
  bool json = false;
  bool csv = false;                      ///< comma-separated values
  bool last = false;                     ///< of the service that was stopped last, not of one that runs
  std::uint64_t last_ns = 0;             ///< of one that runs, only so much, in steps of 10 s; 0: all of it
  std::optional<ReportBy> by;            ///< one table; nothing: everything, or with csv the sources
  std::string html;                      ///< the page to create; empty: none
  std::uint64_t projected_grain_ns = 0;  ///< on the page: work of a phase of a job
  std::vector<std::uint64_t> nodes;      ///< the same: sizes of the job, rising
};

/// Prints the report of a daemon, of one that was stopped, or of a recording; or creates options.html.
Status run_report(const ReportOptions& options);

}  // namespace noised::client
