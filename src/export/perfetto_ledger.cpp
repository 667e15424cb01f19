// SPDX-License-Identifier: Apache-2.0
#include "export/perfetto_ledger.h"

#include "export/export.h"

namespace noised {

std::string largest_part(const Ledger& ledger, const SourceTable& sources) {
  std::string name = "overhead";
  std::uint64_t largest_ns = ledger.overhead_ns;
  const auto compare = [&](std::uint64_t ns, const auto& text) {
    if (ns <= largest_ns) return;
    largest_ns = ns;
    name = text();
  };
  compare(ledger.hypervisor_ns, [] { return "hypervisor"; });
  compare(ledger.outside_ns - ledger.hypervisor_ns, [] { return "hardware"; });
  compare(ledger.unexplained_ns, [] { return "unexplained"; });
  for (const LedgerEntry& entry : ledger.entries) {
    compare(entry.self_ns, [&] { return source_text(sources.at(entry.source)); });
  }
  return name;
}

void note_ledger(const Ledger& ledger, const SourceTable& sources, const NoteEntry& more, PerfettoFile::Notes& notes) {
  const auto note_entry = [&](PerfettoFile::Notes& to, std::size_t at) {
    const LedgerEntry& entry = ledger.entries[at];
    to.repeated_text("source", source_text(sources.at(entry.source)));
    to.number("self_ns", entry.self_ns);
    to.number("depth", entry.depth);
    more(to, at);
  };
  notes.list("entries", ledger.entries.size(), note_entry);
  notes.number("overhead_ns", ledger.overhead_ns);
  notes.number("hypervisor_ns", ledger.hypervisor_ns);
  notes.number("hardware_ns", ledger.outside_ns - ledger.hypervisor_ns);
  notes.number("unexplained_ns", ledger.unexplained_ns);
  notes.truth("incomplete", ledger.detour.in_doubt);
}

}  // namespace noised
