// SPDX-License-Identifier: Apache-2.0
// What was measured on one CPU, told by its place in the description, as other benchmarks print it.
#pragma once

#include <noised/result.h>

#include <cstddef>

#include "noisectl/measured.h"
#include "noisectl/options.h"

namespace noised::client {

/// "START COUNT" a line, as FTQ does to standard output: start of each quantum in ns since the first, and the loop's
/// iterations in it. An error where the loop took no samples.
Status print_ftq(Player& player, std::size_t place);
/// The time of each portion of work in ns, one a line, as in FWQ's fwq_times.dat. An error where it took no samples.
Status print_fwq(Player& player, std::size_t place);
/// What FTQ's missing work says against detours and intervals: correlation and bias (Morari 2011, figure 1).
Status compare_ftq(const Options& options, const Measured& measured, std::size_t place);
/// Each detour with its time since the first, as selfish (netgauge) writes it, in ns.
Status print_selfish(const Measured& measured, std::size_t place);
/// Number, mean and histogram of interruptions over 1 us, with what the scheduler did (Lameter 2009, 5.2).
Status print_latencytest(const Measured& measured, std::size_t place);

}  // namespace noised::client
