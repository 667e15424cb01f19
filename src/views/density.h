// SPDX-License-Identifier: Apache-2.0
// The two distributions of each CPU, side by side.
#pragma once

#include <string>
#include <vector>

#include "model/report.h"

#include "analysis/density/distributions.h"

namespace noised::views {

/// Both densities as bars, an eighth of a decade each, then their distances and the reasons; `report` says what was
/// lost and unsupported.
std::string to_text(const std::vector<analysis::DensityComparison>& cpus, const Report& report);
/// The same as one JSON object, schema "noised.density/1"; a point is [duration_ns, user, rebuilt], the densities per
/// decade of duration.
std::string to_json(const std::vector<analysis::DensityComparison>& cpus, const Report& report);

}  // namespace noised::views
