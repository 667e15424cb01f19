// SPDX-License-Identifier: Apache-2.0
// noisectl histogram: how long detours and their sources last; with --range, who makes up a peak.
#pragma once

#include <cstdint>
#include <optional>

#include "noisectl/client/options.h"

namespace noised::client {

/// Durations from low_ns to high_ns, both included.
struct DurationRange {
  std::uint64_t low_ns = 0;
  std::uint64_t high_ns = 0;
};

struct HistogramOptions : SharedOptions {
  bool json = false;
  bool all = false;                    ///< every source, not only those that took most time
  std::optional<unsigned> cpu;         ///< only this CPU
  std::optional<DurationRange> range;  ///< who makes up these durations
};

}  // namespace noised::client
