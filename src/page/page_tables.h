// SPDX-License-Identifier: Apache-2.0
// Rows of "About this measurement" that every page has.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/report.h"
#include "model/views.h"
#include "page/html.h"
#include "recording/description.h"

namespace noised::page {

/// The machine, the daemon, when it began and how long it lasted. The table has two columns.
void add_machine_rows(TableWriter& table, const Report& report, const StatusView& status,
                      const recording::Description& description);
/// What the instrument itself took of the stolen time.
void add_own_row(TableWriter& table, std::span<const ReportSource> sources, std::uint64_t stolen_ns);
/// What was lost.
void add_lost_row(TableWriter& table, const ReportLost& lost);
/// What could not be seen.
void add_unsupported_row(TableWriter& table, const std::vector<std::string>& lines);

}  // namespace noised::page
