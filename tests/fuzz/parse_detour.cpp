// SPDX-License-Identifier: Apache-2.0
// Detours as the client receives them, and the line that stands for those it missed.
#include "view.h"
#include "views/detour.h"

using namespace noised;

extern "C" int fuzz_parse_detour(const std::uint8_t* data, std::size_t size) {
  const std::string_view line = fuzz::text(data, size);
  if (const auto lost = views::parse_lost_line(line)) {
    fuzz::check(views::parse_lost_line(views::lost_line_json(*lost)) == lost, "a lost line comes back", line);
    return 0;
  }
  fuzz::check_view(line, views::parse_detour);
  const auto detour = views::parse_detour(line);
  fuzz::check(!detour || views::to_text(detour.value()).find('\n') == std::string::npos, "a detour is one line", line);
  return 0;
}
