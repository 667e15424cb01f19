// SPDX-License-Identifier: Apache-2.0
// The report as single tables, for people and for programs.
#pragma once

#include <string>

#include "model/report.h"

namespace noised::views {

/// What a table of the report is about.
enum class ReportTable {
  ledger,        ///< where each CPU's time went; for people: everything
  sources,       ///< each source by itself (De's frequency domain)
  combinations,  ///< what came together in one detour (De's time domain)
  events,        ///< events a second, average, maximum and minimum of each source (Morari's tables)
};

/// One table of the report for people, with what was lost.
/// `selftest`: what is known of the last self-test; empty: nothing is said of it.
std::string to_text(const Report& report, ReportTable table, const std::string& selftest = {});
/// One table of the report as comma-separated values with one header line, times in integer ns. A report has no losses
/// there: they are anything_lost() and lost_text().
std::string to_csv(const Report& report, ReportTable table);

/// Time by category, a line for each CPU: every nanosecond of its detours is in one of them (Morari's figure 3).
std::string categories_text(const Report& report);

/// Where, when and by which clock was measured; a paragraph of its own.
std::string report_head(const Report& report);
/// What was lost, and what could not be observed.
std::string report_tail(const Report& report);

}  // namespace noised::views
