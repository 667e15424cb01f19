// SPDX-License-Identifier: Apache-2.0
#include "views/estimate_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "views/format.h"
#include "views/views.h"

namespace noised::views {

std::string long_time_text(std::uint64_t ns) {
  constexpr double kHourNs = 3'600e9;
  const double hours = static_cast<double>(ns) / kHourNs;
  if (hours < 1) return format_duration(ns);
  return hours < 72 ? fmt::format("{:.3g} h", hours) : fmt::format("{:.0f} days", hours / 24);
}

std::string needs_text(const Estimate& estimate) {
  return estimate.needs_ns ? fmt::format("needs {} more", long_time_text(*estimate.needs_ns)) : "not seen";
}

std::string share_range(const Estimate& estimate) {
  return fmt::format("{} to {}", format_share(std::min(*estimate.low, 1.0)),
                     format_share(std::min(*estimate.high, 1.0)));
}

std::string slowdown_text(double excess, double least) {
  const int decimals = least > 0 ? std::clamp(2 - static_cast<int>(std::floor(std::log10(least))), 2, 9) : 2;
  return fmt::format("{:.{}f}", 1 + excess, decimals);
}

std::string slowdown_range(const Estimate& excess) {
  return fmt::format("{} to {}", slowdown_text(*excess.low, *excess.low), slowdown_text(*excess.high, *excess.low));
}

}  // namespace noised::views
