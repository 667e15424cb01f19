// SPDX-License-Identifier: Apache-2.0
// Single losses as JSON: they are many, so their fields are places in arrays.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/losses.h"

namespace noised::views {

/// The losses as one JSON object on one line, without the newline; schema "noised.losses/1". Running: [pid, start_ns].
/// Sources: [number, category, kind, name]. Losses: [pid, start_ns, duration_ns, incomplete, number, ns, number, ns..].
std::string to_json(const LossesView& losses);

/// True if the line is one of these, not a report.
bool is_losses(std::string_view line);

/// Reads what to_json wrote; the parts of each loss sum to its duration.
Result<LossesView> parse_losses(std::string_view json);

}  // namespace noised::views
