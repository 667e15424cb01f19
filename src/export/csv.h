// SPDX-License-Identifier: Apache-2.0
// For spreadsheets and scripts.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

#include "export/export.h"

namespace noised::exports {

/// The text as one field of a line (RFC 4180): in quotes where it has to be.
std::string csv_field(std::string_view text);

/// Creates a directory with intervals.csv, detours.csv, entries.csv (of the detours' ledgers), not_observed.csv,
/// sources.csv, report.json and machine.json; where tasks were watched, with runs.csv, and losses are detours. Fails
/// after it has exported what came before the damage where the recording is damaged.
Status export_csv(const Play& play, const std::string& out, const Progress& progress);

}  // namespace noised::exports
