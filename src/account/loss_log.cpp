// SPDX-License-Identifier: Apache-2.0
// Parts of one loss that have the same source are one part.
#include "account/loss_log.h"

#include <algorithm>

namespace noised::account {

void LossLog::add_part(std::size_t first, SourceId source, std::uint64_t ns) {
  if (ns == 0) return;
  const auto begin = parts_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto found = std::find_if(begin, parts_.end(), [source](const Part& part) { return part.source == source; });
  if (found == parts_.end()) {
    parts_.push_back({source, ns});
  } else {
    found->ns += ns;
  }
}

void LossLog::ran(std::uint32_t pid) {
  if (!ran_.empty() && ran_.back() == pid) return;
  if (ran_.size() >= kLosses) {
    ++dropped_;
    return;
  }
  ran_.push_back(pid);
}

void LossLog::add(const Loss& loss, const DetourLedger& ledger, const SourceTable& sources) {
  if (entries_.size() >= kLosses || parts_.size() + ledger.entries.size() + kGapKinds.size() > kParts) {
    ++dropped_;
    return;
  }
  const std::size_t first = parts_.size();
  for (const LedgerEntry& entry : ledger.entries) add_part(first, entry.source, entry.self_ns);
  ledger.for_each_gap([&](Kind kind, std::uint64_t ns) { add_part(first, sources.gap(kind), ns); });
  entries_.push_back({.pid = loss.pid,
                      .incomplete = ledger.detour.in_doubt,
                      .start_ns = loss.detour.start_ns,
                      .duration_ns = loss.detour.end_ns - loss.detour.start_ns,
                      .first_part = first,
                      .parts = parts_.size() - first});
}

void LossLog::take(LossLog& other) {
  dropped_ += other.dropped_;
  for (const std::uint32_t pid : other.ran_) ran(pid);
  if (entries_.empty()) {
    entries_.swap(other.entries_);
    parts_.swap(other.parts_);
  } else if (entries_.size() + other.entries_.size() > kLosses || parts_.size() + other.parts_.size() > kParts) {
    dropped_ += other.entries_.size();
  } else {
    const std::size_t before = parts_.size();
    parts_.insert(parts_.end(), other.parts_.begin(), other.parts_.end());
    entries_.reserve(entries_.size() + other.entries_.size());
    for (Entry entry : other.entries_) {
      entry.first_part += before;
      entries_.push_back(entry);
    }
  }
  other.clear();
}

void LossLog::clear() {
  entries_.clear();
  parts_.clear();
  ran_.clear();
  dropped_ = 0;
}

}  // namespace noised::account
