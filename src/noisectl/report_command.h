// SPDX-License-Identifier: Apache-2.0
// noisectl report: the report in the form that was asked for.
#pragma once

#include <noised/report.h>
#include <noised/result.h>

#include "noisectl/options.h"

namespace noised::client {

/// Prints the report as --json, --csv and --by say; with --csv, what was lost goes to standard error.
Status print_report(const Options& options, const Report& report);

}  // namespace noised::client
