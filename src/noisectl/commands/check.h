// SPDX-License-Identifier: Apache-2.0
// noisectl check: whether a node is quiet enough.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/check/check.h"
#include "base/result.h"
#include "noisectl/client/options.h"

namespace noised::client {

struct CheckOptions : MeasureOptions {
  analysis::NoiseLimits limits;
  bool json = false;
};

enum class LimitKey : std::uint8_t { max_detour, max_share, source, cpus };

/// Reads one limit as the user wrote it; a usage error otherwise, which does not name the key.
Status read_limit(LimitKey key, const std::string& text, analysis::NoiseLimits& limits);

/// Reads limits written as TOML; usage errors name the file and the line.
Result<analysis::NoiseLimits> parse_limits(const std::string& text, const std::string& file);

/// Prints what was found of the last minute, of the next `duration_ns`, or of a recording. An error without words, of
/// the code that says so, where that is noisy or blind.
Status run_check(const CheckOptions& options);

}  // namespace noised::client
