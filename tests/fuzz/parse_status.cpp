// SPDX-License-Identifier: Apache-2.0
// The state of a daemon as the client receives it.
#include "view.h"

extern "C" int fuzz_parse_status(const std::uint8_t* data, std::size_t size) {
  noised::fuzz::check_view(noised::fuzz::text(data, size), noised::views::parse_status);
  return 0;
}
