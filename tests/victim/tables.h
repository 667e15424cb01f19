// SPDX-License-Identifier: Apache-2.0
// The comparison as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "victim/account.h"
#include "victim/compare.h"
#include "victim/struck.h"

namespace noised::victim {

/// A table by source, totals, and a table of what the generators did, if there are any.
std::string to_text(const Account& account, const Comparison& comparison, const std::vector<Struck>& struck);
/// One JSON object, schema "noised.victim_comparison/1".
std::string to_json(const Account& account, const Comparison& comparison, const std::vector<Struck>& struck);

}  // namespace noised::victim
