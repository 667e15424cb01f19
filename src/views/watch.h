// SPDX-License-Identifier: Apache-2.0
// What was taken from watched tasks, as JSON and as text: one place for both programs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/watch.h"

namespace noised::views {

/// The watch as one JSON object on one line, without the newline; schema "noised.watch/1". Fields are named as the
/// members. The counts are beside the others, so the histograms, whose names they have, are "run_histogram" and
/// "wait_histogram" there.
std::string to_json(const WatchReport& report);

/// Reads what to_json wrote; the error names the missing or mistyped field.
Result<WatchReport> parse_watch(std::string_view json);

/// The watch for people: what was taken and by whom, how long tasks ran and waited, what is not known.
std::string to_text(const WatchReport& report);

using CategoryTime = std::pair<std::string, std::uint64_t>;

/// Stolen time by the names of categories, falling; 0 where it was counted and not timed.
std::vector<CategoryTime> category_times(const WatchReport& report);

/// The same so far in one line, without the newline: when, runnable and stolen time, and the worst source.
std::string summary_line(const WatchReport& report);

}  // namespace noised::views
