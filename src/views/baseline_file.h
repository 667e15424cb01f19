// SPDX-License-Identifier: Apache-2.0
// A baseline as a file.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

#include "analysis/baseline/baseline.h"

namespace noised::views {

/// One JSON object, schema "noised.baseline/1". By block, in "detours" pairs [bucket's lower bound in ns, count], and
/// in each of the "sources" triples [block, count, self time in ns] of the blocks in which it occurred.
std::string to_json(const analysis::Baseline& baseline);

/// Reads what to_json wrote; the error names the field that is missing, or that cannot be so.
Result<analysis::Baseline> parse_baseline(std::string_view json);

}  // namespace noised::views
