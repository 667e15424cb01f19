// SPDX-License-Identifier: Apache-2.0
#include "noisectl/nodes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

namespace noised::client {
namespace {

constexpr std::uint64_t kMostNodes = 1'000'000'000;
constexpr std::size_t kMostSizes = 64;

std::optional<std::uint64_t> parse_size_of_job(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || value == 0 || value > kMostNodes)
    return std::nullopt;
  return value;
}

/// Goes on from the last two of `sizes`, by their ratio, to below `last`; false where that makes no sense.
bool continue_to(std::uint64_t last, std::vector<std::uint64_t>& sizes) {
  if (sizes.size() < 2) return false;
  const double ratio = static_cast<double>(sizes.back()) / static_cast<double>(sizes[sizes.size() - 2]);
  if (ratio <= 1) return false;
  double next = static_cast<double>(sizes.back()) * ratio;
  while (next < static_cast<double>(last) - 0.5) {
    if (sizes.size() >= kMostSizes) return false;
    sizes.push_back(static_cast<std::uint64_t>(std::llround(next)));
    next *= ratio;
  }
  return true;
}

}  // namespace

Result<std::vector<std::uint64_t>> parse_nodes(std::string_view text) {
  const Error error = usage_error("--nodes " + std::string(text) + " is no list of at most 64 sizes from 1 to 10^9",
                                  "give such as 1,10,...,1000000");
  std::vector<std::uint64_t> sizes;
  bool left_out = false;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view part = text.substr(at, comma - at);
    at = comma + 1;
    if (part == "..." && !left_out) {
      left_out = true;
      continue;
    }
    const auto size = parse_size_of_job(part);
    if (!size || (left_out && !continue_to(*size, sizes))) return error;
    left_out = false;
    sizes.push_back(*size);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (left_out || sizes.size() > kMostSizes) return error;
  return sizes;
}

}  // namespace noised::client
