// SPDX-License-Identifier: Apache-2.0
// An instant belongs to the interval that started last among those that cover it. Those that started later and have
// ended have no self time left: so it belongs to the one that started last among those that have some left.
#include "page/placing.h"

#include <algorithm>
#include <cassert>

namespace noised::page {

Placing::Left& Placing::owner() {
  while (!open_.empty() && open_.back().ns == 0) open_.pop_back();
  if (!open_.empty()) return open_.back();
  const auto left = std::find_if(outside_.begin(), outside_.end(), [](const Left& kind) { return kind.ns != 0; });
  assert(left != outside_.end());  // a ledger adds up
  return *left;
}

void Placing::advance(std::uint64_t to_ns) {
  while (cursor_ns_ < to_ns) {
    Left& left = owner();
    const std::uint64_t ns = std::min(left.ns, to_ns - cursor_ns_);
    pieces_.push_back({left.category, cursor_ns_, cursor_ns_ + ns});
    left.ns -= ns;
    cursor_ns_ += ns;
  }
}

std::span<const Piece> Placing::place(const Ledger& ledger) {
  pieces_.clear();
  open_.clear();
  outside_ = {{{Category::overhead, ledger.overhead_ns},
               {Category::hypervisor, ledger.hypervisor_ns},
               {Category::hardware, ledger.outside_ns - ledger.hypervisor_ns},
               {Category::unexplained, ledger.unexplained_ns}}};
  cursor_ns_ = ledger.detour.start_ns;
  for (const LedgerEntry& entry : ledger.entries) {
    if (entry.self_ns == 0) continue;
    advance(entry.start_ns);
    open_.push_back({sources_.at(entry.source).category, entry.self_ns});
  }
  advance(ledger.detour.end_ns);
  return pieces_;
}

}  // namespace noised::page
