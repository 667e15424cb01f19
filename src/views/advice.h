// SPDX-License-Identifier: Apache-2.0
// Advice for people and for programs.
#pragma once

#include <string>
#include <string_view>

#include "analysis/advice/advise.h"
#include "model/report.h"

namespace noised::views {

/// What to set, by gain; then what is set already, and what nothing is known for. `report` says where, when, and what
/// was lost.
std::string to_text(const analysis::Advice& advice, const Report& report);
/// The same as one JSON object, schema "noised.advice/1"; null where something is not known, or there is none.
std::string to_json(const analysis::Advice& advice, const Report& report);

/// " (1.17% to 2.00%)"; empty where there are no limits.
std::string limits_text(const analysis::Share& share);
/// Where a remedy goes, and what: "nohz_full=1 on the kernel's command line". Names in it are as they were found.
std::string place_text(const analysis::Remedy& remedy);
/// "not set", or such; empty if there is nothing to set. `known` is a reason that was told before: why nothing is known
/// of any setting.
std::string state_text(const analysis::Remedy& remedy, std::string_view known);

}  // namespace noised::views
