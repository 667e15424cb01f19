// SPDX-License-Identifier: Apache-2.0
// Advice for people and for programs.
#pragma once

#include <string>

#include <noised/report.h>

#include "advice/advise.h"

namespace noised::views {

/// What to set, by gain; then what is set already, and what nothing is known for. `report` says where, when, and what
/// was lost.
std::string to_text(const Advice& advice, const Report& report);
/// The same as one JSON object, schema "noised.advice/1"; null where something is not known, or there is none.
std::string to_json(const Advice& advice, const Report& report);

}  // namespace noised::views
