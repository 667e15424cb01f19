// SPDX-License-Identifier: Apache-2.0
// What is different between a baseline and a run.
#pragma once

#include <string>

#include "analysis/baseline/baseline_diff.h"

namespace noised::views {

/// The changes by what they add, then what could have been found; `before` and `after` are the runs.
std::string to_text(const analysis::BaselineDiff& diff, const analysis::Baseline& before,
                    const analysis::Baseline& after);
/// The same as one JSON object, schema "noised.baseline_diff/1".
std::string to_json(const analysis::BaselineDiff& diff, const analysis::Baseline& before,
                    const analysis::Baseline& after);

/// "3 sources, and the densities" that are different.
std::string differences_text(const analysis::BaselineDiff& diff);

}  // namespace noised::views
