// SPDX-License-Identifier: Apache-2.0
// The ledger of a detour does it, but for waits with nobody in them.
#include "watch/loss_ledger.h"

#include <algorithm>

namespace noised {

Ledger& LossLedger::divide(const Loss& loss, std::span<const Interval> intervals) {
  attributor_.attribute(loss.detour, intervals, bounds_, ledger_);
  if (ledger_.entries.empty() && loss.kind != LossKind::interrupted) {
    std::uint64_t& rest = loss.detour.in_doubt ? ledger_.unexplained_ns : ledger_.outside_ns;
    ledger_.overhead_ns = std::min(rest, bounds_.bound(GapPlace::before, Kind::none));
    ledger_.gaps.push_back({GapPlace::before, Kind::none, rest});
    rest -= ledger_.overhead_ns;
  }
  if (!loss.detour.in_doubt) {
    for (const Gap& gap : ledger_.gaps) bounds_.learn(gap);
  }
  return ledger_;
}

}  // namespace noised
