// SPDX-License-Identifier: Apache-2.0
// What the self-test found last on this machine, for reports to tell.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/report.h"

namespace noised::client {

/// What is kept of a self-test of all kinds of noise.
struct LastSelftest {
  std::string time;  ///< RFC 3339, UTC
  std::string kernel;
  std::string version;       ///< of noisectl
  std::uint64_t trials = 0;  ///< of noise that could be made here
  std::uint64_t failed = 0;
};

/// Keeps it where the service keeps its last report, for root; nothing where there is no such directory, or others
/// started the test. An error names the file.
Status keep_last_selftest(const LastSelftest& last, const std::string& path);
/// The file for that: last-selftest.json beside the last report.
std::string last_selftest_path();

/// Its JSON, on one line with its end; and back.
std::string to_json(const LastSelftest& last);
Result<LastSelftest> parse_last_selftest(std::string_view json);

/// "self-test passed 2026-11-27 (13 trials)", or what else is known of it; "no self-test is on record" where there is
/// none.
std::string last_selftest_text(const Report& report, const std::string& path);

}  // namespace noised::client
