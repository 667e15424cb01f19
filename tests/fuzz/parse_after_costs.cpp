// SPDX-License-Identifier: Apache-2.0
// What phases printed, of any bytes: accepted, each cost is of a source and can be added to detours.
#include <cmath>

#include "fuzz.h"
#include "views/phases.h"

using namespace noised;
using fuzz::check;

extern "C" int fuzz_parse_after_costs(const std::uint8_t* data, std::size_t size) {
  const auto costs = views::parse_after_costs(fuzz::text(data, size));
  if (!costs) {
    fuzz::check_error(costs.error(), ExitCode::failed);
    return 0;
  }
  SourceTable sources;
  account::DetourLedger ledger;
  for (const analysis::AfterCost& each : costs.value().costs) {
    check(std::isfinite(each.cost.ns) && std::isfinite(each.cost.low_ns) && std::isfinite(each.cost.high_ns),
          "a cost is a number");
    if (!each.kind) continue;
    account::LedgerEntry entry;
    entry.source = sources.intern(*each.kind, each.name);
    if (ledger.entries.size() < 64) ledger.entries.push_back(entry);
  }
  analysis::AfterCosts after(costs.value().costs, sources);
  check(after.take(ledger) <= 64 * std::uint64_t{1'000'000'000'000}, "costs add up");
  return 0;
}
