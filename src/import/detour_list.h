// SPDX-License-Identifier: Apache-2.0
// Detours as another tool lists them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/types.h"

namespace noised::imports {

struct ListedSource {
  Kind kind = Kind::unexplained;
  std::string name;
};

struct ListedDetour {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::size_t source = 0;  ///< place in the list's sources
  unsigned cpu = 0;
  std::size_t line = 0;  ///< from 1
};

struct DetourList {
  std::vector<ListedSource> sources;  ///< each once
  std::vector<ListedDetour> detours;  ///< by start; those of a CPU do not overlap
};

/// Reads a list; an error names the line, as NAME:LINE. Lines that begin with # and empty lines do not count. Two forms
/// are known by their first line:
/// - "# Selfish ...": time and duration in ns, in two columns, of CPU 0, to the nearest whole ones (noisectl selfish);
/// - else CSV (RFC 4180, without line breaks in fields), whose first line names the columns: `start_ns`, `duration_ns`
///   or `end_ns`, and, if there are any, `cpu` (0 where there is none) and `source`, such as task:crond. Other columns
///   do not count. A detour without a source is unexplained.
/// At most kMostDetours, and names of at most kLongestName bytes.
inline constexpr std::size_t kMostDetours = 10'000'000;
inline constexpr std::size_t kLongestName = 255;
Result<DetourList> read_detour_list(std::string_view text, const std::string& name);

}  // namespace noised::imports
