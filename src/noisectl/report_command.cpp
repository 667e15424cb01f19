// SPDX-License-Identifier: Apache-2.0
#include "noisectl/report_command.h"

#include <cstdio>

#include "noisectl/output.h"
#include "views/json_parts.h"
#include "views/views.h"

namespace noised::client {
namespace {

std::string shown(const Options& options, const Report& report) {
  if (options.json) return views::to_json(report) + "\n";
  if (options.csv) return views::to_csv(report, options.by.value_or(ReportBy::sources));
  return views::to_text(report, options.by.value_or(ReportBy::ledger));
}

}  // namespace

Status print_report(const Options& options, const Report& report) {
  Output output(stdout);
  output.write(shown(options, report));
  if (options.csv && views::anything_lost(report.lost))
    std::fputs(("noisectl: lost: " + views::lost_text(report.lost) + "\n").c_str(), stderr);
  if (Status written = output.finish(); !written) return written;
  return views::check_not_blind(report.lost);
}

}  // namespace noised::client
