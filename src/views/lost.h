// SPDX-License-Identifier: Apache-2.0
// Parts that several results share: clock, lost counters, sources, the daemon's state.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <noised/report.h>
#include <noised/result.h>
#include <noised/views.h>

#include "views/json_fields.h"

namespace noised::views {

/// The clock as a JSON object; containment is null before the first interval.
Json clock_json(const ReportClock& clock);
/// The lost counters as a JSON object.
Json lost_json(const ReportLost& lost);
/// A source, without its CPU: not every result has one.
Json source_json(const ReportSource& source);
Json combination_json(const ReportCombination& combination);
/// "preemption": 98000000, and so on, in this order.
Json categories_json(const std::vector<std::pair<std::string, std::uint64_t>>& categories);

/// The daemon's state as to_json(StatusView) writes it.
Json status_json(const StatusView& status);

/// Reads what clock_json wrote.
void read_clock(const Fields& fields, ReportClock& clock);
/// Reads what lost_json wrote.
void read_lost(const Fields& fields, ReportLost& lost);
/// Reads what source_json wrote: not the CPU.
void read_source(const Fields& fields, ReportSource& source);
/// Reads what combination_json wrote.
void read_combination(const Fields& fields, ReportCombination& combination);
/// Reads what categories_json wrote, at "categories".
void read_categories(const Fields& fields, std::vector<std::pair<std::string, std::uint64_t>>& categories);
/// Reads what status_json wrote.
void read_status(const Fields& fields, StatusView& status);

/// True if any counter is above zero.
bool anything_lost(const ReportLost& lost);
/// The lost counters as text: "nothing lost", or each counter with its number.
std::string lost_text(const ReportLost& lost);
/// The same without where and why, and one of those.
std::string lost_totals_text(const ReportLost& lost);
std::string loss_text(const ReportLoss& loss);
/// "clock tsc, uncertainty 25 ns, containment 99.99% (CPU 3)": the worst one's.
std::string clock_text(const ReportClock& clock);
/// "CPUs 1-2 were blind: ..." and what that means, without a line end; empty: none was.
std::string blind_text(const ReportLost& lost);
/// Fails, with that text, where a CPU was blind: what was printed of it is not to be believed.
Status check_not_blind(const ReportLost& lost);
/// What could not be attached, one a line, each line ended; says so when there is nothing.
std::string unsupported_text(const std::vector<std::string>& unsupported);

}  // namespace noised::views
