// SPDX-License-Identifier: Apache-2.0
#include "noisectl/advise_visitor.h"

namespace noised::client {

// Kernel workers do what they are told, and are told apart by that.
void TaskVisitor::detour(std::size_t /*cpu*/, const Ledger& ledger, std::string_view /*details*/) {
  for (const LedgerEntry& entry : ledger.entries) {
    if (entry.kind != Kind::task || entry.id == 0) continue;
    const std::string& name = sources_.at(entry.source).name;
    if (!name.starts_with("kworker/")) pids_[name] = static_cast<unsigned>(entry.id);
  }
}

}  // namespace noised::client
