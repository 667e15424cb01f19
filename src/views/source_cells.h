// SPDX-License-Identifier: Apache-2.0
// A source's figures as cells: what was only counted has no times.
#pragma once

#include <string>

#include <noised/report.h>

#include "views/cells.h"

namespace noised::views {

/// False for the faults of a kernel that refuses to time them: they are instants, whose count is known, and not their
/// duration. What is absent is not zero.
bool timed(const ReportSource& source);

/// "kind:name".
std::string label(const ReportSource& source);

/// One of the source's times; unknown if it has none.
Cell time_of(const ReportSource& source, std::uint64_t ns);
/// Its share of the stolen time; the same.
Cell share_of(const ReportSource& source);

}  // namespace noised::views
