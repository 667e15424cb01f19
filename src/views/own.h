// SPDX-License-Identifier: Apache-2.0
// What the instrument itself took, as text.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "model/report.h"

namespace noised::views {

/// Of `stolen_ns`, which these sources took: "1.20 ms (0.1%) by noisectl 1.00 ms, noised/http 200 us", or "nothing";
/// the largest first, at most three by name. It says so where tasks without a name of their own ("other") may be among
/// them. What its BPF programs take is inside of every event, and not in this.
std::string own_noise_text(std::span<const ReportSource> sources, std::uint64_t stolen_ns);

}  // namespace noised::views
