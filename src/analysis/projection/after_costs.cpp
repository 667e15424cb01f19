// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/after_costs.h"

#include <algorithm>
#include <cmath>

namespace noised::analysis {

AfterCosts::AfterCosts(std::span<const AfterCost> costs, const SourceTable& sources) : sources_(sources) {
  for (const AfterCost& each : costs) {
    if (each.kind) {
      by_name_.insert_or_assign({*each.kind, each.name}, each.cost);
    } else {
      others_ = each.cost;
    }
  }
}

const CostEstimate& AfterCosts::cost_of(SourceId source) {
  if (source >= by_id_.size()) by_id_.resize(std::size_t{source} + 1, nullptr);
  if (by_id_[source] == nullptr) {
    const Source& named = sources_.at(source);
    const auto known = by_name_.find({named.kind, named.name});
    by_id_[source] = known == by_name_.end() ? &others_ : &known->second;
  }
  return *by_id_[source];
}

double AfterCosts::of(SourceId source) { return cost_of(source).ns; }

std::uint64_t AfterCosts::take(const account::DetourLedger& ledger) {
  CostEstimate sum;
  for (const account::LedgerEntry& entry : ledger.entries) {
    const CostEstimate& cost = cost_of(entry.source);
    sum.ns += cost.ns;
    sum.low_ns += cost.low_ns;
    sum.high_ns += cost.high_ns;
  }
  taken_.ns += std::max(sum.ns, 0.0);
  taken_.low_ns += std::max(sum.low_ns, 0.0);
  taken_.high_ns += std::max(sum.high_ns, 0.0);
  return static_cast<std::uint64_t>(std::llround(std::max(sum.ns, 0.0)));
}

}  // namespace noised::analysis
