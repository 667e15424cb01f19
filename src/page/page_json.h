// SPDX-License-Identifier: Apache-2.0
// What noise costs, for the scripts that draw it.
#pragma once

#include "page/page.h"
#include "views/json_fields.h"

namespace noised::page {

/// The sizes of the job, each with its slowdown or what that needs.
views::Json projection_json(const PageInput& input);
/// Of each CPU that the page shows, how much longer than its work a phase is with which probability.
views::Json phases_json(const PageInput& input);

}  // namespace noised::page
