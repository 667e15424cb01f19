// SPDX-License-Identifier: Apache-2.0
// Sort by start, then join what overlaps or nearly touches.
#include "watch/stretches.h"

#include <algorithm>

namespace noised {
namespace {

// What follows an interrupt on its way out, and may not be the task's own doing as a page fault is.
bool may_follow(Kind kind) { return kind == Kind::vector || kind == Kind::irq || kind == Kind::softirq; }

// A function that another CPU asked for comes with an interrupt; without one, the task calls it on its own CPU too.
bool is_own_call(std::span<const Interval> intervals) {
  return std::ranges::all_of(intervals, [](const Interval& each) { return each.kind == Kind::csd; });
}

// The ways in and out are in no interval, and in no other interruption.
Detour with_costs(const Interval& first, std::uint64_t end_ns, std::uint64_t from_ns, std::uint64_t to_ns,
                  const EntryCosts& costs) {
  const EntryCost cost = costs.of(first);
  const std::uint64_t room_before_ns = first.start_ns - std::min(from_ns, first.start_ns);
  const std::uint64_t room_after_ns = std::max(to_ns, end_ns) - end_ns;
  return {first.start_ns - std::min(cost.before_ns, room_before_ns), end_ns + std::min(cost.after_ns, room_after_ns),
          false};
}

}  // namespace

std::size_t divide_interruptions(std::span<const Interval> intervals, const Stretch& stretch, const EntryCosts& costs,
                                 std::vector<Interval>& scratch, const OnInterruption& on_interruption) {
  scratch.assign(intervals.begin(), intervals.end());
  std::ranges::stable_sort(scratch, {}, &Interval::start_ns);
  const std::uint64_t join_ns = std::max(kJoinNs, costs.shortest_return_ns());
  std::uint64_t from_ns = stretch.from_ns;
  std::size_t told = 0;
  for (std::size_t first = 0; first < scratch.size();) {
    std::uint64_t end_ns = scratch[first].end_ns;
    std::size_t last = first + 1;
    const auto touches = [&](const Interval& next) {
      return next.start_ns <= end_ns + (may_follow(next.kind) ? join_ns : kJoinNs);
    };
    for (; last < scratch.size() && touches(scratch[last]); ++last) end_ns = std::max(end_ns, scratch[last].end_ns);
    if (end_ns > stretch.until_ns) break;
    const std::span<const Interval> one = std::span(scratch).subspan(first, last - first);
    const bool is_last = last == scratch.size();
    Detour whole =
        with_costs(scratch[first], end_ns, from_ns, is_last ? stretch.end_ns : scratch[last].start_ns, costs);
    // It brought the switch about: the task did not run in between.
    if (is_last && stretch.preempted && end_ns + costs.switched_out_ns >= stretch.end_ns)
      whole.end_ns = std::max(end_ns, stretch.end_ns);
    if (!is_own_call(one)) {
      on_interruption(whole, one);
      from_ns = whole.end_ns;
    }
    told += last - first;
    first = last;
  }
  return told;
}

}  // namespace noised
