// SPDX-License-Identifier: Apache-2.0
#include "views/source_cells.h"

namespace noised::views {

bool timed(const ReportSource& source) { return source.kind != "page_fault" || source.max_ns != 0; }

std::string label(const ReportSource& source) { return source.kind + ":" + source.name; }

Cell time_of(const ReportSource& source, std::uint64_t ns) { return timed(source) ? time_cell(ns) : unknown_cell(); }

Cell share_of(const ReportSource& source) { return timed(source) ? share_cell(source.share) : unknown_cell(); }

}  // namespace noised::views
