// SPDX-License-Identifier: Apache-2.0
#include "export/ctf_fields.h"

#include <cstdint>

namespace noised {

void put(std::string& to, const Ledger& ledger) {
  put(to, ledger.detour.end_ns - ledger.detour.start_ns);
  put(to, ledger.explained_ns);
  put(to, ledger.overhead_ns);
  put(to, ledger.hypervisor_ns);
  put(to, ledger.outside_ns - ledger.hypervisor_ns);
  put(to, ledger.unexplained_ns);
  put(to, static_cast<std::uint8_t>(ledger.detour.in_doubt ? 1 : 0));
  put(to, static_cast<std::uint32_t>(ledger.entries.size()));
  for (const LedgerEntry& entry : ledger.entries) {
    put(to, entry.source);
    put(to, entry.depth);
    put(to, entry.self_ns);
  }
}

}  // namespace noised
