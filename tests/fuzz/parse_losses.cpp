// SPDX-License-Identifier: Apache-2.0
// Single losses as the client receives them.
#include "fuzz.h"
#include "views/losses.h"

extern "C" int fuzz_parse_losses(const std::uint8_t* data, std::size_t size) {
  const auto losses = noised::views::parse_losses(noised::fuzz::text(data, size));
  if (!losses) {
    noised::fuzz::check_error(losses.error(), noised::ExitCode::failed);
    return 0;
  }
  const std::string json = noised::views::to_json(losses.value());
  const auto again = noised::views::parse_losses(json);
  noised::fuzz::check(again.ok(), "what was accepted is accepted again", json);
  noised::fuzz::check(noised::views::to_json(again.value()) == json, "and means the same", json);
  for (const noised::LossView& loss : losses.value().losses) {
    std::uint64_t parts_ns = 0;
    for (const auto& [source, ns] : loss.parts) parts_ns += ns;
    noised::fuzz::check(parts_ns == loss.duration_ns, "parts sum to the loss", json);
  }
  return 0;
}
