// SPDX-License-Identifier: Apache-2.0
#include "page/tails.h"

namespace noised::page {

Tails::Tails(const std::vector<MergedSource>& sources, const Playback& playback) : playback_(playback) {
  for (std::size_t i = 0; i < sources.size(); ++i)
    named_[{sources[i].kind, sources[i].name}] = {true, i, sources[i].p99_ns, 0, 0};
}

Tails::Tail& Tails::tail_of(SourceId id) {
  if (id >= tails_.size()) tails_.resize(id + 1);
  Tail& tail = tails_[id];
  if (tail.known) return tail;
  const Source& source = playback_.sources().at(id);
  const auto found = named_.find({std::string(to_string(source.kind)), source.name});
  tail = found == named_.end() ? Tail{true, SIZE_MAX, 0, 0, 0} : found->second;
  return tail;
}

void Tails::add(SourceId id, std::uint64_t ns) {
  Tail& tail = tail_of(id);
  if (ns <= tail.above_ns) return;
  ++tail.count;
  tail.total_ns += ns;
}

void Tails::detour(std::size_t /*cpu*/, const Ledger& ledger, std::string_view /*details*/) {
  for (const LedgerEntry& entry : ledger.entries) add(entry.source, entry.self_ns);
  const SourceTable& sources = playback_.sources();
  add(sources.gap(Kind::overhead), ledger.overhead_ns);
  add(sources.gap(Kind::hypervisor), ledger.hypervisor_ns);
  add(sources.gap(Kind::hardware), ledger.outside_ns - ledger.hypervisor_ns);
  add(sources.gap(Kind::unexplained), ledger.unexplained_ns);
}

bool Tails::set(std::vector<MergedSource>& sources) const {
  std::vector<std::uint64_t> counts(sources.size(), 0);
  for (const Tail& tail : tails_) {
    if (!tail.known || tail.count == 0) continue;
    if (tail.source >= sources.size()) return false;
    counts[tail.source] += tail.count;
    sources[tail.source].tail_ns += tail.total_ns;
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (counts[i] != sources[i].tail_count) return false;
  }
  return true;
}

}  // namespace noised::page
