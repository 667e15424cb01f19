// SPDX-License-Identifier: Apache-2.0
// Who makes up a range of durations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/report.h"
#include "model/views.h"

#include "analysis/density/peak.h"

namespace noised::views {

/// A source, or a combination of several.
struct PeakPart {
  std::vector<std::string> sources;  ///< "kind:name"
  std::uint64_t count = 0;
  std::optional<std::uint64_t> total_ns;  ///< nothing: only buckets are known
  double share = 0;                       ///< of the count of all parts
};

struct PeakView {
  std::uint64_t low_ns = 0;  ///< as asked
  std::uint64_t high_ns = 0;
  std::uint64_t used_low_ns = 0;  ///< as counted: those of the buckets, unless every event was looked at
  std::uint64_t used_high_ns = 0;
  bool exact = false;  ///< every event was looked at
  std::uint64_t detours = 0;
  std::optional<std::uint64_t> total_ns;
  std::vector<PeakPart> sources;                      ///< by count, falling
  std::optional<std::vector<PeakPart>> combinations;  ///< the same; nothing: not known
  std::vector<PeakPart> untimed;                      ///< sources that were only counted: they are in no range
  analysis::Neighbours next_detours;                  ///< outside the range as counted
  analysis::Neighbours next_self_times;
  std::optional<ReportLost> lost;                       ///< nothing: not known here
  std::optional<std::vector<std::string>> unsupported;  ///< the same
};

/// The peak out of every event; `report` is of the same measurement.
PeakView peak_of(const analysis::PeakCounter& counter, const SourceTable& sources, std::uint64_t low_ns,
                 std::uint64_t high_ns, const Report& report);
/// The peak out of histograms: a bucket that touches the range counts as a whole.
PeakView peak_of(const HistogramView& histograms, std::uint64_t low_ns, std::uint64_t high_ns);

std::string to_text(const PeakView& peak);
/// One JSON object, schema "noised.peak/1"; what is not known is null.
std::string to_json(const PeakView& peak);

}  // namespace noised::views
