// SPDX-License-Identifier: Apache-2.0
// Estimates as people read them: their interval, or what they need.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/estimate.h"

namespace noised::views {

/// format_duration() stays with minutes up to a thousand of them, and with hours for ever: this goes on with days.
std::string long_time_text(std::uint64_t ns);
/// What an estimate needs, where it has no value.
std::string needs_text(const Estimate& estimate);
/// The interval of a share that has one.
std::string share_range(const Estimate& estimate);
/// 1 + excess, with as many decimals as `least`, its lower end, has before its second digit: "1.32", "1.000012".
std::string slowdown_text(double excess, double least);
/// The interval of an excess that has one, as slowdowns.
std::string slowdown_range(const Estimate& excess);

}  // namespace noised::views
