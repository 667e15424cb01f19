// SPDX-License-Identifier: Apache-2.0
// Gaps and losses are put together; what a host stole on the way in or out is far above the others, and left out.
#include "account/entry_costs.h"

#include <noised/abi.h>

#include <algorithm>
#include <numeric>

namespace noised::account {
namespace {

bool is_timer(const Interval& interval) {
  return interval.kind == Kind::vector && interval.id == NOISED_VECTOR_LOCAL_TIMER;
}

// As for the bounds of overhead (account/overhead_bounds.h): the lower half is the machine's own.
std::uint64_t bound_of(const std::vector<std::uint64_t>& sorted) {
  constexpr std::uint64_t kSpreads = 8;
  const std::uint64_t median = sorted[sorted.size() / 2];
  return std::max(2 * median, median + kSpreads * (median - sorted[sorted.size() / 4]));
}

struct Learned {
  std::uint64_t mean_ns = 0;
  std::uint64_t bound_ns = 0;
  std::uint64_t most_ns = 0;  // within the bound
  std::uint64_t samples = 0;  // likewise
};

Learned learned(std::vector<std::uint64_t> samples) {
  if (samples.size() < EntryLearner::kEnough) return {};
  std::ranges::sort(samples);
  const std::uint64_t bound_ns = bound_of(samples);
  const auto end = std::ranges::upper_bound(samples, bound_ns);
  const auto count = static_cast<std::uint64_t>(end - samples.begin());
  return {std::accumulate(samples.begin(), end, std::uint64_t{0}) / count, bound_ns, *(end - 1), count};
}

TimerWays ways_of(const Learned& in, const Learned& out) {
  if (in.samples == 0 || out.samples == 0) return {};
  return {in.mean_ns + out.mean_ns, in.most_ns + out.most_ns, std::min(in.samples, out.samples)};
}

std::uint64_t least_ns(const std::vector<std::uint64_t>& samples) {
  return samples.size() < EntryLearner::kEnough ? 0 : *std::ranges::min_element(samples);
}

}  // namespace

EntryCost EntryCosts::of(const Interval& first) const { return is_timer(first) ? timer : EntryCost{}; }

std::optional<Untold> EntryCosts::untold(std::span<const Interval> intervals, const Detour& told) const {
  if (timer_ways.samples == 0 || intervals.empty() || !is_timer(intervals.front())) return std::nullopt;
  std::uint64_t end_ns = 0;
  for (const Interval& interval : intervals) end_ns = std::max(end_ns, interval.end_ns);
  const std::uint64_t events_ns = end_ns - intervals.front().start_ns;
  const std::uint64_t beside_ns = told.end_ns - told.start_ns - std::min(events_ns, told.end_ns - told.start_ns);
  return Untold{timer_ways.mean_ns - std::min(beside_ns, timer_ways.mean_ns),
                timer_ways.most_ns - std::min(beside_ns, timer_ways.most_ns)};
}

std::uint64_t EntryCosts::shortest_return_ns() const { return (timer.before_ns + timer.after_ns) / 2; }

struct EntryLearner::Samples {
  std::vector<std::uint64_t> before;
  std::vector<std::uint64_t> after;
  std::vector<std::uint64_t> in;
  std::vector<std::uint64_t> out;
};

void EntryLearner::add(const Loss& loss, std::span<const Interval> intervals) {
  if (!loss.detour.in_doubt && !intervals.empty()) losses_.push_back({loss, intervals.front()});
}

void EntryLearner::add_gap(const Detour& gap, std::span<const Lost> losses, Samples& samples) {
  const Lost& first = losses.front();
  const Lost& last = losses.back();
  if (first.loss.detour.start_ns < gap.start_ns || last.loss.detour.end_ns > gap.end_ns) return;
  if (first.loss.kind == LossKind::interrupted && is_timer(first.first))
    samples.before.push_back(first.loss.detour.start_ns - gap.start_ns);
  const std::uint64_t after_ns = gap.end_ns - last.loss.detour.end_ns;
  if (last.loss.kind == LossKind::preempted) samples.in.push_back(after_ns);
  if (last.loss.kind == LossKind::interrupted && is_timer(last.first)) samples.after.push_back(after_ns);
  for (std::size_t at = 1; at < losses.size(); ++at) {
    const Loss& before = losses[at - 1].loss;
    const Loss& next = losses[at].loss;
    if (before.kind != LossKind::interrupted || next.kind != LossKind::preempted) continue;
    samples.out.push_back(next.detour.start_ns - std::min(before.detour.end_ns, next.detour.start_ns));
  }
}

EntryCosts EntryLearner::learn(std::span<const Detour> gaps) const {
  std::vector<Lost> losses = losses_;
  std::ranges::sort(losses, {}, [](const Lost& lost) { return lost.loss.detour.start_ns; });
  Samples samples;
  auto at = losses.cbegin();
  for (const Detour& gap : gaps) {
    at = std::find_if(at, losses.cend(), [&](const Lost& lost) { return lost.loss.detour.end_ns > gap.start_ns; });
    const auto end =
        std::find_if(at, losses.cend(), [&](const Lost& lost) { return lost.loss.detour.start_ns >= gap.end_ns; });
    if (at != end) add_gap(gap, {at, end}, samples);
    at = end;
  }
  return {{least_ns(samples.before), least_ns(samples.after)},
          learned(samples.in).mean_ns,
          learned(samples.out).bound_ns,
          ways_of(learned(samples.before), learned(samples.after))};
}

}  // namespace noised::account
