// SPDX-License-Identifier: Apache-2.0
// What was lost, by which clock was measured and what could not be observed, as text.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/report.h"

namespace noised::views {

/// True if any counter is above zero.
bool anything_lost(const ReportLost& lost);
/// The lost counters as text: "nothing lost", or each counter with its number.
std::string lost_text(const ReportLost& lost);
/// The same without where and why, and one of those.
std::string lost_totals_text(const ReportLost& lost);
std::string loss_text(const ReportLoss& loss);
/// "clock tsc, uncertainty 25 ns, containment 99.99% (CPU 3)": the worst one's.
std::string clock_text(const ReportClock& clock);
/// "CPUs 1-2 were blind: ..." and what that means, without a line end; empty: none was.
std::string blind_text(const ReportLost& lost);
/// Fails, with that text, where a CPU was blind: what was printed of it is not to be believed.
Status check_not_blind(const ReportLost& lost);
/// What could not be attached, one a line, each line ended; says so when there is nothing.
std::string unsupported_text(const std::vector<std::string>& unsupported);

}  // namespace noised::views
