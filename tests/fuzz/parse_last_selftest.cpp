// SPDX-License-Identifier: Apache-2.0
// The record of a self-test, of any bytes: accepted, it means the same when it is written and read again.
#include "fuzz.h"
#include "noisectl/client/last_selftest.h"

using namespace noised;
using fuzz::check;

extern "C" int fuzz_parse_last_selftest(const std::uint8_t* data, std::size_t size) {
  const auto last = client::parse_last_selftest(fuzz::text(data, size));
  if (!last) {
    fuzz::check_error(last.error(), ExitCode::failed);
    return 0;
  }
  const std::string json = client::to_json(last.value());
  const auto again = client::parse_last_selftest(json);
  check(again.ok(), "what was accepted is accepted again", json);
  check(client::to_json(again.value()) == json, "what was accepted means the same again", json);
  return 0;
}
