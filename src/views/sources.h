// SPDX-License-Identifier: Apache-2.0
// A source's figures as cells: what was only counted has no times.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/report.h"
#include "views/text.h"

namespace noised::views {

// The sources of all CPUs of a report together.

/// The rows of each source merged into one, by total time, falling; `cpu` means nothing there, `share` is of the stolen
/// time of all CPUs. Counts, totals, extremes and means are as if the durations had been counted in one place. The
/// deviation is so up to 1 ns: a report has each CPU's rounded to half a nanosecond, by which the merged one can be off
/// at most (it is a weighted quadratic mean of them and of the distances of the means), and is then rounded itself.
std::vector<ReportSource> all_cpus(const Report& report);

/// Of all CPUs together, in ns.
std::uint64_t observed_ns_of_all(const Report& report);
std::uint64_t stolen_ns_of_all(const Report& report);
/// Of one CPU, in ns; 0 if it is not in the report.
std::uint64_t observed_ns_of(const Report& report, unsigned cpu);

/// False for the faults of a kernel that refuses to time them: they are instants, whose count is known, and not their
/// duration. What is absent is not zero.
bool timed(const ReportSource& source);

/// False for time in no interval (hypervisor, hardware, overhead, unexplained): it lasts, but does not happen.
bool is_event(const ReportSource& source);

/// "kind:name".
std::string label(const ReportSource& source);
/// The same for people: of what is named like its kind, "hypervisor".
std::string short_label(std::string_view kind, std::string_view name);
/// Of one task, with its pid: "task:crond[812]".
std::string short_label(const ReportSource& source);
/// The same of labels: "vector:local_timer + hypervisor".
std::string short_labels(const std::vector<std::string>& labels);

/// One of the source's times; unknown if it has none.
Cell time_of(const ReportSource& source, std::uint64_t ns);
/// Its share of the stolen time; the same.
Cell share_of(const ReportSource& source);

}  // namespace noised::views
