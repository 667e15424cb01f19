// SPDX-License-Identifier: Apache-2.0
// The line that stands in a stream of detours for those its reader was too slow to receive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace noised::views {

/// {"lost_detours":N}, without the newline.
std::string lost_line_json(std::uint64_t detours);

/// The number of detours skipped if the line is such a line.
std::optional<std::uint64_t> parse_lost_line(std::string_view line);

/// The line for people, without the newline.
std::string lost_line_text(std::uint64_t detours);

}  // namespace noised::views
