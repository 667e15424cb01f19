// SPDX-License-Identifier: Apache-2.0
// Percentages, rates and safe names.
#include "views/format.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace noised::views {

std::string format_share(double ratio) {
  const double percent = 100 * ratio;
  if (percent <= 0) return "0%";
  if (percent < 0.0001) return "<0.0001%";
  if (percent < 0.1) return fmt::format("{:.4f}%", percent);
  if (percent < 1) return fmt::format("{:.3f}%", percent);
  if (percent < 10) return fmt::format("{:.2f}%", percent);
  return fmt::format("{:.1f}%", percent);
}

std::string format_containment(double ratio) {
  if (ratio >= 1) return "100.0000%";
  // What is a whole number of millionths, but not in binary, is not to lose one of them.
  return fmt::format("{:.4f}%", std::min(std::floor(1e6 * ratio + 1e-6), 999'999.0) / 1e4);
}

std::string format_rate(std::uint64_t count, std::uint64_t ns) {
  if (ns == 0) return "-";
  const double rate = 1e9 * ratio(count, ns);
  if (rate < 10) return fmt::format("{:.2f}", rate);
  if (rate < 100) return fmt::format("{:.1f}", rate);
  return fmt::format("{:.0f}", rate);
}

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string printable(std::string_view text) {
  std::string safe(text);
  for (char& byte : safe)
    if (byte < 0x20 || byte > 0x7e) byte = '?';
  return safe;
}

}  // namespace noised::views
