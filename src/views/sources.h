// SPDX-License-Identifier: Apache-2.0
// The sources of all CPUs of a report together.
#pragma once

#include <cstdint>
#include <vector>

#include <noised/report.h>

namespace noised::views {

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

}  // namespace noised::views
