// SPDX-License-Identifier: Apache-2.0
// Every result as JSON and as text: one place for both programs.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/report.h"
#include "model/views.h"

namespace noised::views {

/// The report as one JSON object, schema "noised.report/1", keys in the contract's order.
std::string to_json(const Report& report);
/// The detour as one JSON object on one line, without the newline; "detail" is an object of strings, absent if empty.
std::string to_json(const DetourView& detour);
/// The histograms as one JSON object, schema "noised.histogram/1"; a bucket is [low_ns, high_ns, count].
std::string to_json(const HistogramView& histogram);
/// The daemon's state as one JSON object, schema "noised.status/1".
std::string to_json(const StatusView& status);

/// Reads what to_json wrote; the error names the missing or mistyped field.
Result<Report> parse_report(std::string_view json);
Result<DetourView> parse_detour(std::string_view json);
Result<HistogramView> parse_histogram(std::string_view json);
Result<StatusView> parse_status(std::string_view json);

/// The report for people: ledger per CPU, sources by stolen time, combinations, what was lost.
std::string to_text(const Report& report);
/// One readable line per detour: when, how long, and its entries in order; the newline is not included.
std::string to_text(const DetourView& detour);
/// Of each CPU, its detours and the sources that took most of the time, or all: how many, how much time, quantiles, and
/// a bar chart of the time, in octaves.
std::string to_text(const HistogramView& histogram, bool all_sources = false);
std::string to_text(const StatusView& status);

/// A duration with a unit and three or four significant digits: "812 ns", "12.4 us", "3.07 ms", "1.50 s".
std::string format_duration(std::uint64_t nanoseconds);

}  // namespace noised::views
