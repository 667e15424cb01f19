// SPDX-License-Identifier: Apache-2.0
// The ledger of a detour does it, but for waits with nobody in them.
#include "account/task_run.h"

#include <algorithm>

namespace noised::account {

DetourLedger& LossLedger::divide(const Loss& loss, std::span<const Interval> intervals) {
  attributor_.attribute(loss.detour, intervals, bounds_, ledger_);
  if (ledger_.entries.empty() && loss.kind != LossKind::interrupted) {
    std::uint64_t& rest = ledger_.gap_ns(loss.detour.in_doubt ? Kind::unexplained : outside_);
    ledger_.overhead_ns = std::min(rest, bounds_.bound(GapPlace::before, Kind::none));
    ledger_.gaps.push_back({GapPlace::before, Kind::none, rest});
    rest -= ledger_.overhead_ns;
  }
  if (!loss.detour.in_doubt) {
    for (const Gap& gap : ledger_.gaps) bounds_.learn(gap, loss.detour.end_ns);
  }
  return ledger_;
}

}  // namespace noised::account
