// SPDX-License-Identifier: Apache-2.0
// The histograms of one CPU out of all.
#pragma once

#include <fmt/format.h>
#include <noised/result.h>
#include <noised/views.h>

namespace noised::client {

/// Leaves only those of this CPU; a usage error if there are none.
inline Status keep_cpu(unsigned cpu, HistogramView& view) {
  std::erase_if(view.series, [cpu](const HistogramSeriesView& each) { return each.cpu != cpu; });
  if (!view.series.empty()) return success();
  return usage_error(fmt::format("--cpu {}: no histogram of this CPU", cpu),
                     "'noisectl status' shows the CPUs that are measured");
}

}  // namespace noised::client
