// SPDX-License-Identifier: Apache-2.0
#include "probe/grain.h"

#include <string>

#include "base/parse.h"
#include "base/quote.h"

namespace noised {

Result<std::uint64_t> parse_grain(std::string_view text) {
  auto time = parse_time(text);
  if (!time) return time.error();
  if (time.value() != 0 && (time.value() < kShortestGrainNs || time.value() > kLongestGrainNs)) {
    return usage_error("grain " + in_quotes(text) + " is not between 1us and 1s", "write such as 1ms");
  }
  return time;
}

}  // namespace noised
