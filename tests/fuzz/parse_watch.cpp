// SPDX-License-Identifier: Apache-2.0
// Watches as the client receives them.
#include "view.h"

extern "C" int fuzz_parse_watch(const std::uint8_t* data, std::size_t size) {
  noised::fuzz::check_view(noised::fuzz::text(data, size), noised::views::parse_watch);
  return 0;
}
