// SPDX-License-Identifier: Apache-2.0
// What a generator reports, of any bytes: accepted, it means the same when it is written and read again.
#include "fuzz.h"
#include "selftest/truth.h"

using namespace noised;
using fuzz::check;

extern "C" int fuzz_parse_truth(const std::uint8_t* data, std::size_t size) {
  const auto truth = selftest::parse_truth(fuzz::text(data, size));
  if (!truth) {
    fuzz::check_error(truth.error(), ExitCode::failed);
    return 0;
  }
  const std::string json = selftest::to_json(truth.value());
  const auto again = selftest::parse_truth(json);
  check(again.ok(), "what was accepted is accepted again", json);
  check(selftest::to_json(again.value()) == json, "what was accepted means the same again", json);
  return 0;
}
