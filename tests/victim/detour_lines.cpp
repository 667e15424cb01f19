// SPDX-License-Identifier: Apache-2.0
// One detour a line; "pid" is there only when tasks are watched.
#include "victim/detour_lines.h"

#include <string>

#include "model/json_fields.h"
#include "views/views.h"

namespace noised::victim {

Result<std::vector<DetourView>> read_detours(std::istream& lines, const Account& account) {
  std::vector<DetourView> detours;
  std::uint64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty()) continue;
    Result<DetourView> detour = views::parse_detour(line);
    if (!detour) return failure("line " + std::to_string(number) + ": " + detour.error().what, detour.error().remedy);
    const Json fields = Json::parse(line, nullptr, false);
    const auto pid = fields.find("pid");
    const bool wanted = pid != fields.end() ? *pid == account.pid : detour.value().cpu == account.cpu;
    if (wanted) detours.push_back(std::move(detour.value()));
  }
  return detours;
}

}  // namespace noised::victim
