// SPDX-License-Identifier: Apache-2.0
// What a report says, in three lines: for who reads no more than that.
#pragma once

#include <string>

#include "model/report.h"

namespace noised::views {

/// Three lines, each ended: which share of the time was stolen; by what, and how much of it has a name; whether to
/// believe it, what is known of the last self-test (`selftest`, if anything), and what noised itself took.
std::string verdict_text(const Report& report, const std::string& selftest = {});

}  // namespace noised::views
