// SPDX-License-Identifier: Apache-2.0
// The projection to many nodes, and the list of what to do first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <noised/report.h>

#include "analysis/projection.h"

namespace noised::views {

struct ProjectionView {
  Projection projection;
  std::vector<RemovableSource> all_sources;  ///< with a time; those that were not projected among them
  std::vector<RemovableSource> untimed;      ///< that were only counted
  std::uint64_t longest_stretch_ns = 0;      ///< of time that was observed, on any CPU
  Report report;                             ///< of the same recording: what was lost and unsupported
};

/// The sources of `all_sources` that no gain is of.
std::vector<RemovableSource> not_projected(const ProjectionView& view);

/// For each size of the job how likely a delay is, and the slowdown or what it needs; then what to remove first.
std::string to_text(const ProjectionView& view);
/// The same as one JSON object, schema "noised.projection/1"; what is not known is null, with what it needs.
std::string to_json(const ProjectionView& view);

}  // namespace noised::views
