// SPDX-License-Identifier: Apache-2.0
// Saying in a stream that something is missing from it.
#include "views/lost_line.h"

#include <fmt/format.h>

#include "views/json_fields.h"

namespace noised::views {

std::string lost_line_json(std::uint64_t detours) { return dump(Json{{"lost_detours", detours}}); }

std::optional<std::uint64_t> parse_lost_line(std::string_view line) {
  // Nearly every line is a detour: those are not parsed twice.
  if (line.substr(0, line.find(':')).find("\"lost_detours\"") == std::string_view::npos) return std::nullopt;
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto found = json.find("lost_detours");
  if (found == json.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<std::uint64_t>();
}

std::string lost_line_text(std::uint64_t detours) {
  return fmt::format("-- {} detours not shown: this reader was too slow --", detours);
}

}  // namespace noised::views
