// SPDX-License-Identifier: Apache-2.0
// What a detour costs the work behind it, which finds its caches cold: from phases of fixed work (indirect_cost.h) to
// the detours of another recording. Pure: no clock, no I/O.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "account/attributor.h"
#include "analysis/fixed_work/indirect_cost.h"
#include "model/sources.h"
#include "model/types.h"

namespace noised::analysis {

/// Of an activation of this source; of those that came with it always, too. No kind: of every source that has none.
struct AfterCost {
  std::optional<Kind> kind;
  std::string name;
  CostEstimate cost;
};

class AfterCosts {
 public:
  /// `sources` are those of the ledgers, and may grow; it outlives this.
  AfterCosts(std::span<const AfterCost> costs, const SourceTable& sources);

  /// Of one activation, in ns; 0 where nothing is known of it.
  [[nodiscard]] double of(SourceId source);
  /// Of all activations in a ledger, in ns, not below 0; and counts it.
  std::uint64_t take(const account::DetourLedger& ledger);
  /// The sum of all that was taken, with the sums of the ends of the costs' intervals.
  [[nodiscard]] const CostEstimate& taken() const { return taken_; }

 private:
  const CostEstimate& cost_of(SourceId source);

  const SourceTable& sources_;
  std::map<std::pair<Kind, std::string>, CostEstimate> by_name_;
  CostEstimate others_;
  std::vector<const CostEstimate*> by_id_;  // null: not looked up yet
  CostEstimate taken_;
};

}  // namespace noised::analysis
