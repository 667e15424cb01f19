// SPDX-License-Identifier: Apache-2.0
// The last fault before a handling is its own, unless another task ran since.
#include "account/attributor.h"

#include <algorithm>
#include <cassert>

#include <noised/abi.h>

namespace noised::account {
namespace {

void clip(Interval& interval, const Detour& detour) {
  interval.start_ns = std::clamp(interval.start_ns, detour.start_ns, detour.end_ns);
  interval.end_ns = std::clamp(interval.end_ns, interval.start_ns, detour.end_ns);
}

bool starts_before(const Interval& a, const Interval& b) {
  if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
  return a.end_ns != b.end_ns ? a.end_ns > b.end_ns : a.kind < b.kind;
}

// They come in order of their ends, which is nearly this one: few move, and only past what is inside of them. Where 500
// tasks wait for a CPU, each of their waits has 500 intervals, and sorting them was a third of what the pipeline did.
void put_in_order(std::vector<Interval>& intervals) {
  std::size_t moves = 8 * intervals.size();  // more: it is another order, a damaged recording's
  for (auto at = intervals.begin(); at != intervals.end(); ++at) {
    if (at == intervals.begin() || !starts_before(*at, *(at - 1))) continue;
    const auto to = std::upper_bound(intervals.begin(), at, *at, starts_before);
    const auto distance = static_cast<std::size_t>(at - to);
    if (distance > moves) return std::stable_sort(intervals.begin(), intervals.end(), starts_before);
    moves -= distance;
    std::rotate(to, at, at + 1);
  }
}

}  // namespace

void Attributor::settle(const OverheadBounds& bounds, DetourLedger& ledger) const {
  const std::uint64_t duration_ns = ledger.detour.end_ns - ledger.detour.start_ns;
  std::uint64_t& rest_ns = ledger.gap_ns(ledger.detour.in_doubt ? Kind::unexplained : outside_);
  if (ledger.entries.empty()) {
    rest_ns = duration_ns;
    return;
  }
  for (const Gap& gap : ledger.gaps) {
    const std::uint64_t overhead_ns = std::min(gap.ns, bounds.bound(gap.place, gap.kind));
    ledger.overhead_ns += overhead_ns;
    rest_ns += gap.ns - overhead_ns;
  }
  for (const LedgerEntry& entry : ledger.entries) ledger.explained_ns += entry.self_ns;
  assert(ledger.adds_up_to(duration_ns));
}

// Books the time up to `to_ns` to the open intervals, innermost first, and closes those that end by then.
void Attributor::advance(std::uint64_t to_ns, DetourLedger& ledger) {
  while (!open_.empty()) {
    const Open innermost = open_.back();
    const std::uint64_t until_ns = std::min(innermost.end_ns, to_ns);
    if (until_ns > cursor_ns_) {
      ledger.entries[innermost.entry].self_ns += until_ns - cursor_ns_;
      cursor_ns_ = until_ns;
    }
    if (innermost.end_ns > to_ns) return;
    if (innermost.end_ns >= last_end_ns_) {
      last_end_ns_ = innermost.end_ns;
      last_kind_ = ledger.entries[innermost.entry].kind;
    }
    open_.pop_back();
  }
}

void Attributor::book_gap(GapPlace place, Kind kind, std::uint64_t end_ns, DetourLedger& ledger) {
  if (end_ns > cursor_ns_) ledger.gaps.push_back(Gap{place, kind, end_ns - cursor_ns_});
  cursor_ns_ = end_ns;
}

void Attributor::attribute(const Detour& detour, std::span<const Interval> intervals, const OverheadBounds& bounds,
                           DetourLedger& ledger) {
  assert(detour.end_ns >= detour.start_ns);
  ledger.detour = detour;
  ledger.set_parts({});
  ledger.entries.clear();
  ledger.gaps.clear();
  sorted_.assign(intervals.begin(), intervals.end());
  put_in_order(sorted_);  // before clipping: edges must not hide who began first
  join_faults(sorted_);
  for (Interval& interval : sorted_) clip(interval, detour);

  cursor_ns_ = detour.start_ns;
  last_end_ns_ = 0;
  last_kind_ = Kind::none;
  for (const Interval& interval : sorted_) {
    advance(interval.start_ns, ledger);
    std::erase_if(open_, [&](const Open& o) { return o.end_ns <= interval.start_ns; });  // overlapped, not nested
    if (open_.empty()) {
      const GapPlace place = ledger.entries.empty() ? GapPlace::before : GapPlace::between;
      book_gap(place, interval.kind, interval.start_ns, ledger);
    }
    const auto depth = static_cast<std::uint8_t>(std::min<std::size_t>(open_.size(), UINT8_MAX));
    ledger.entries.push_back(
        {interval.source, interval.kind, interval.flags, depth, interval.start_ns, 0, interval.id, interval.cause});
    open_.push_back(Open{interval.end_ns, ledger.entries.size() - 1});
  }
  advance(detour.end_ns, ledger);
  if (!ledger.entries.empty()) book_gap(GapPlace::after, last_kind_, detour.end_ns, ledger);
  settle(bounds, ledger);
}

namespace {

bool is_handling(const Interval& interval) {
  return interval.kind == Kind::page_fault && (interval.flags & NOISED_FLAG_HANDLING) != 0;
}

}  // namespace

void join_faults(std::vector<Interval>& intervals) {
  if (std::none_of(intervals.begin(), intervals.end(), is_handling)) return;
  Interval* fault = nullptr;  // whose handling has not begun yet
  for (Interval& interval : intervals) {
    if (interval.kind == Kind::task) fault = nullptr;
    if (interval.kind != Kind::page_fault) continue;
    if (!is_handling(interval)) {
      fault = &interval;
    } else if (fault != nullptr) {
      fault->end_ns = interval.end_ns;
      fault->flags |= interval.flags & NOISED_FLAG_SPLIT;
      interval.kind = Kind::none;
      fault = nullptr;
    }
  }
  std::erase_if(intervals, [](const Interval& interval) { return interval.kind == Kind::none; });
}

}  // namespace noised::account
