// SPDX-License-Identifier: Apache-2.0
#include "analysis/removable.h"

#include <algorithm>

namespace noised {

void SourceTotals::add(SourceId source, std::uint64_t self_ns) {
  if (source >= totals_.size()) totals_.resize(source + 1);
  Total& total = totals_[source];
  ++total.count;
  total.total_ns += self_ns;
  total.longest_ns = std::max(total.longest_ns, self_ns);
}

void SourceTotals::add(const Ledger& ledger, const SourceTable& sources) {
  for (const LedgerEntry& entry : ledger.entries) add(entry.source, entry.self_ns);
  if (ledger.hypervisor_ns != 0) add(sources.gap(Kind::hypervisor), ledger.hypervisor_ns);
  const std::uint64_t hardware_ns = ledger.outside_ns - ledger.hypervisor_ns;
  if (hardware_ns != 0) add(sources.gap(Kind::hardware), hardware_ns);
}

std::vector<RemovableSource> SourceTotals::list(bool timed, const SourceTable& sources) const {
  std::vector<RemovableSource> result;
  for (std::size_t i = 0; i < totals_.size(); ++i) {
    const Total& total = totals_[i];
    if (total.count == 0 || (total.total_ns != 0) != timed) continue;
    const auto id = static_cast<SourceId>(i);
    result.push_back({id, sources.at(id).kind, sources.at(id).name, total.count, total.total_ns, total.longest_ns});
  }
  return result;
}

std::vector<RemovableSource> SourceTotals::timed(const SourceTable& sources) const { return list(true, sources); }

std::vector<RemovableSource> SourceTotals::untimed(const SourceTable& sources) const { return list(false, sources); }

std::vector<RemovableSource> SourceTotals::choose(std::size_t most, const SourceTable& sources) const {
  std::vector<RemovableSource> all = timed(sources);
  if (all.size() <= most) return all;
  std::stable_sort(all.begin(), all.end(),
                   [](const RemovableSource& a, const RemovableSource& b) { return a.total_ns > b.total_ns; });
  const auto rest = all.begin() + static_cast<std::ptrdiff_t>((most + 1) / 2);
  std::stable_sort(rest, all.end(),
                   [](const RemovableSource& a, const RemovableSource& b) { return a.longest_ns > b.longest_ns; });
  all.resize(most);
  return all;
}

}  // namespace noised
