// SPDX-License-Identifier: Apache-2.0
// What noise costs, for the scripts that draw it.
#pragma once

#include "model/json_fields.h"
#include "page/page.h"

namespace noised::page {

/// The sizes of the job, each with its slowdown or what that needs.
Json projection_json(const PageInput& input);
/// Of each CPU that the page shows, how much longer than its work a phase is with which probability.
Json phases_json(const PageInput& input);

}  // namespace noised::page
