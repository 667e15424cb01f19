// SPDX-License-Identifier: Apache-2.0
// Keeping and handing out recent detours.
#include "pipeline/detour_feed.h"

#include <noised/abi.h>

#include <algorithm>

namespace noised {
namespace {

// Room for the gap entries, and for one "other" of each kind that intervals can have.
constexpr std::size_t kGapEntries = 2;
constexpr std::size_t kOthers = static_cast<std::size_t>(Kind::hypervisor);
constexpr std::size_t kNamed = FeedDetour::kEntries - kGapEntries - kOthers;

void add_to(FeedDetour& detour, SourceId source, std::size_t room, const LedgerEntry& entry,
            const SourceTable& sources) {
  const auto end = detour.entries.begin() + detour.size;
  auto found = std::find_if(detour.entries.begin(), end, [&](const auto& e) { return e.source == source; });
  if (found == end) {
    if (detour.size >= room) {
      add_to(detour, sources.other(entry.kind), FeedDetour::kEntries, entry, sources);
      return;
    }
    detour.entries[detour.size++] = {source, entry.depth, entry.flags, 1, entry.self_ns};
    return;
  }
  found->depth = std::min(found->depth, entry.depth);
  found->flags |= entry.flags;
  found->intervals += 1;
  found->self_ns += entry.self_ns;
}

void add_gap(FeedDetour& detour, SourceId source, std::uint64_t ns) {
  if (ns != 0) detour.entries[detour.size++] = {source, 0, 0, 1, ns};
}

}  // namespace

FeedDetour to_feed(unsigned cpu, const Ledger& ledger, Kind outside, const SourceTable& sources) {
  FeedDetour detour;
  detour.cpu = cpu;
  detour.incomplete = ledger.detour.in_doubt;
  detour.start_ns = ledger.detour.start_ns;
  detour.duration_ns = ledger.detour.end_ns - ledger.detour.start_ns;
  detour.overhead_ns = ledger.overhead_ns;
  if (ledger.entries.size() + kGapEntries <= FeedDetour::kEntries) {
    for (const LedgerEntry& entry : ledger.entries) {
      detour.entries[detour.size++] = {entry.source, entry.depth, entry.flags, 1, entry.self_ns};
    }
  } else {
    for (const LedgerEntry& entry : ledger.entries) add_to(detour, entry.source, kNamed, entry, sources);
  }
  add_gap(detour, sources.gap(outside), ledger.outside_ns);
  add_gap(detour, sources.gap(Kind::unexplained), ledger.unexplained_ns);
  return detour;
}

DetourView to_view(const FeedDetour& detour, const SourceTable& sources) {
  DetourView view;
  view.cpu = detour.cpu;
  view.start_ns = detour.start_ns;
  view.duration_ns = detour.duration_ns;
  view.incomplete = detour.incomplete;
  view.overhead_ns = detour.overhead_ns;
  for (std::size_t i = 0; i < detour.size; ++i) {
    const FeedDetour::Entry& entry = detour.entries[i];
    const Source& source = sources.at(entry.source);
    DetourEntryView shown{std::string(to_string(source.kind)), source.name, entry.self_ns, entry.depth, {}};
    if (entry.intervals > 1) shown.detail.emplace_back("intervals", std::to_string(entry.intervals));
    if ((entry.flags & NOISED_FLAG_SPLIT) != 0) shown.detail.emplace_back("split", "true");
    view.entries.push_back(std::move(shown));
  }
  return view;
}

DetourFeed::DetourFeed() : staged_(kStaged), kept_(kKept), position_of_(kKept, 0) {}

void DetourFeed::add(const FeedDetour& detour) {
  staged_[staged_next_] = detour;
  staged_next_ = (staged_next_ + 1) % kStaged;
  ++staged_count_;
}

void DetourFeed::commit() {
  if (staged_count_ == 0) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const std::uint64_t held = std::min<std::uint64_t>(staged_count_, kStaged);
  end_ += staged_count_ - held;  // positions of the detours that staging had no room for stay empty
  for (std::uint64_t i = held; i != 0; --i, ++end_) {
    kept_[end_ % kKept] = staged_[(staged_next_ + kStaged - i) % kStaged];
    position_of_[end_ % kKept] = end_ + 1;
  }
  staged_count_ = 0;
}

DetourFeed::Batch DetourFeed::read(std::uint64_t from, std::size_t limit) {
  const std::lock_guard lock(mutex_);
  Batch batch;
  const std::uint64_t oldest = end_ > kKept ? end_ - kKept : 0;
  if (from < oldest) {
    batch.lost = from == 0 ? 0 : oldest - from;
    from = oldest;
  }
  for (; from < end_ && batch.detours.size() < limit; ++from) {
    if (position_of_[from % kKept] == from + 1) {
      batch.detours.push_back(kept_[from % kKept]);
    } else {
      ++batch.lost;
    }
  }
  batch.next = from;
  return batch;
}

std::uint64_t DetourFeed::end() {
  const std::lock_guard lock(mutex_);
  return end_;
}

}  // namespace noised
