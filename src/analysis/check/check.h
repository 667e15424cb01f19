// SPDX-License-Identifier: Apache-2.0
// A report against limits: good, noisy, or not seen well enough to tell. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/check.h"
#include "model/report.h"

namespace noised::analysis {

/// A limit of some sources: of their longest, or of what they take together.
struct SourceLimit {
  std::string pattern;  ///< of "kind:name", as fnmatch(3) has it
  std::optional<std::uint64_t> max_ns;
  std::optional<std::uint64_t> share;  ///< in billionths of the observed time
};

struct NoiseLimits {
  std::optional<std::uint64_t> max_detour_ns;
  std::optional<std::uint64_t> max_share;  ///< in billionths of the observed time
  std::vector<SourceLimit> sources;
  std::optional<std::vector<unsigned>>
      cpus;  ///< to judge, each of which must have been measured; nothing: all with a loop, or where there is none all

  [[nodiscard]] bool any() const { return max_detour_ns || max_share || !sources.empty(); }
};

/// Reads "task:agent*=20us" or "softirq:*=0.1%"; a usage error otherwise.
Result<SourceLimit> parse_source_limit(const std::string& text);

/// Judges a report that build_recent() made. Each limit is the most that is allowed. A CPU is blind where nothing was
/// observed (of tasks: for less than a tenth of the time), where its loop was off it, where a limit is below its
/// threshold, or where what was lost may have been above a limit. It is noisy by what was seen also then, but for
/// shares of tasks' time of which something was lost; one that is noisy makes the whole noisy.
CheckView check_noise(const Report& report, const NoiseLimits& limits);

}  // namespace noised::analysis
