// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/removal.h"

#include <algorithm>

namespace noised::analysis {
namespace {

/// Runs only inside of something that is there for it.
bool is_callback(Kind kind) {
  switch (kind) {
    case Kind::tasklet:
    case Kind::timer:
    case Kind::hrtimer:
    case Kind::irq_work:
    case Kind::csd:
    case Kind::work:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Removal::look_at(const account::DetourLedger& ledger) {
  ledger_ = &ledger;
  parents_.clear();
  last_at_.clear();
  for (std::size_t i = 0; i < ledger.entries.size(); ++i) {
    const std::size_t depth = ledger.entries[i].depth;
    if (last_at_.size() <= depth) last_at_.resize(depth + 1, kNone);
    parents_.push_back(depth == 0 ? kNone : last_at_[depth - 1]);
    last_at_[depth] = i;
  }
}

// Entries are in order of start: what is around one comes before it.
void Removal::take_what_is_inside(std::span<const SourceId> sources) {
  for (std::size_t i = 0; i < gone_.size(); ++i) {
    const account::LedgerEntry& entry = ledger_->entries[i];
    const bool bound = is_callback(entry.kind) || entry.kind == Kind::page_fault;
    const bool chosen = std::find(sources.begin(), sources.end(), entry.source) != sources.end();
    gone_[i] = chosen || (bound && parents_[i] != kNone && gone_[parents_[i]]);
  }
}

void Removal::take_what_carried_it() {
  for (std::size_t i = gone_.size(); i > 0; --i) {
    const std::size_t at = i - 1;
    if (carried_[at] && !carries_[at]) gone_[at] = true;
    if (parents_[at] == kNone || !is_callback(ledger_->entries[at].kind)) continue;
    (gone_[at] ? carried_ : carries_)[parents_[at]] = true;
  }
}

std::uint64_t Removal::without(std::span<const SourceId> sources) {
  const std::size_t count = ledger_->entries.size();
  gone_.assign(count, false);
  carries_.assign(count, false);
  carried_.assign(count, false);
  take_what_is_inside(sources);
  take_what_carried_it();
  std::uint64_t gone_ns = 0;
  std::size_t gone = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!gone_[i]) continue;
    ++gone;
    gone_ns += ledger_->entries[i].self_ns;
  }
  return gone_ns + (gone == count && gone != 0 ? ledger_->overhead_ns : 0);
}

void SourceTotals::add(SourceId source, std::uint64_t self_ns) {
  if (source >= totals_.size()) totals_.resize(source + 1);
  Total& total = totals_[source];
  ++total.count;
  total.total_ns += self_ns;
  total.longest_ns = std::max(total.longest_ns, self_ns);
}

void SourceTotals::add(const account::DetourLedger& ledger, const SourceTable& sources) {
  for (const account::LedgerEntry& entry : ledger.entries) add(entry.source, entry.self_ns);
  ledger.for_each_gap([&](Kind kind, std::uint64_t ns) {
    if (kind == Kind::hypervisor || kind == Kind::hardware) add(sources.gap(kind), ns);
  });
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

}  // namespace noised::analysis
