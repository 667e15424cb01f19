// SPDX-License-Identifier: Apache-2.0
// /proc/PID/environ of any bytes, which the process chooses: a rank that stands there, or none.
#include "fuzz.h"
#include "noisectl/watch/ranks.h"

using noised::fuzz::check;

extern "C" int fuzz_parse_rank(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = noised::fuzz::text(data, size);
  const auto claim = noised::client::parse_rank(text);
  if (!claim) return 0;
  check(text.find("=") != std::string_view::npos, "a rank is the value of a variable", text);
  check(text.find(std::to_string(claim->rank)) != std::string_view::npos, "a rank is in the text", text);
  check(text.find(claim->allocation) != std::string_view::npos, "a job is in the text", claim->allocation);
  return 0;
}
