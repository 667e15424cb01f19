// SPDX-License-Identifier: Apache-2.0
// Detours come in order, so that those which touch a window are the newest.
#include "account/steal_marks.h"

#include <algorithm>

namespace noised::account {

StealMarks::StealMarks() {
  parts_.reserve(kParts);
  windows_.reserve(kWindows);
}

void StealMarks::add(const StealWindow& window) {
  has_windows_ = true;
  if (windows_.size() == kWindows) windows_.erase(windows_.begin());
  windows_.push_back(window);
}

void StealMarks::add_unseen(const Detour& time) {
  if (has_windows_) remember({time.start_ns, time.end_ns, 0, 0, Kind::none, true, false});
}

void StealMarks::remember(const Part& part) {
  if (parts_.size() < kParts) {
    parts_.push_back(part);
  } else {
    forgotten_ns_ = std::max(forgotten_ns_, parts_[next_].end_ns);
    parts_[next_] = part;
  }
  next_ = (next_ + 1) % kParts;
}

void StealMarks::add(const DetourLedger& ledger) {
  const Detour& detour = ledger.detour;
  if (!has_windows_) return;
  if (forgotten_ns_ == UINT64_MAX) forgotten_ns_ = detour.start_ns;
  if (detour.in_doubt) return add_unseen(detour);
  bool first = true;
  const auto add_part = [&](SourceId source, Kind kind, std::uint64_t ns) {
    if (ns == 0) return;
    remember({detour.start_ns, detour.end_ns, ns, source, kind, first, false});
    first = false;
  };
  for (const LedgerEntry& entry : ledger.entries) add_part(entry.source, entry.kind, entry.self_ns);
  ledger.for_each_gap([&](Kind kind, std::uint64_t ns) { add_part(0, kind, ns); });
}

std::uint64_t StealMarks::inside(const Part& part, const StealWindow& window) {
  const std::uint64_t from_ns = std::max(part.start_ns, window.from_ns);
  return std::min(part.end_ns, window.to_ns) - std::min({from_ns, part.end_ns, window.to_ns});
}

std::uint64_t StealMarks::room_in(const StealWindow& window, std::size_t& touching) {
  touching = 0;
  if (forgotten_ns_ > window.from_ns) return 0;
  std::uint64_t room_ns = 0;
  for (; touching < parts_.size() && newest(touching).end_ns > window.from_ns; ++touching) {
    const Part& part = newest(touching);
    const std::uint64_t inside_ns = inside(part, window);
    if (part.kind == Kind::none && inside_ns != 0) return 0;
    if (part.first) room_ns += inside_ns;
  }
  return room_ns;
}

void StealMarks::forget() {
  parts_.clear();
  windows_.clear();
  next_ = 0;
  forgotten_ns_ = UINT64_MAX;
}

}  // namespace noised::account
