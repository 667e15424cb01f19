// SPDX-License-Identifier: Apache-2.0
// Matching by time; both streams are in order, so each interval is looked at once.
#include "account/matcher.h"

namespace noised::account {

Matcher::Matcher(std::uint64_t threshold_ns, std::size_t capacity) : threshold_ns_(threshold_ns), capacity_(capacity) {}

void Matcher::count(const Interval& interval, bool contained) {
  if (interval.start_ns < first_ns_) return;
  if (!contained) ++orphans_;
  if (interval.end_ns - interval.start_ns <= threshold_ns_) return;
  ++containment_.eligible;
  if (contained) ++containment_.contained;
}

// Moves what waits to the front once most of the vector is behind it: each interval moves at most once on average.
void Matcher::drop_taken() {
  if (head_ < held_.size() && head_ < held_.size() / 2) return;
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(head_));
  dropped_ += head_;
  head_ = 0;
}

// Asked of one interval after the other: a skip is forgotten with the last interval that it counts for.
bool Matcher::skipped(std::size_t at) {
  while (!skips_.empty() && skips_.front().before <= dropped_ + at) skips_.pop_front();
  return !skips_.empty() && held_[at].start_ns <= skips_.front().until_ns;
}

Matcher::Match Matcher::take(const Detour& detour, std::uint64_t tolerance_ns) {
  drop_taken();
  matched_.clear();
  Match match;
  for (; head_ < held_.size(); ++head_) {
    const Interval& interval = held_[head_];
    if (skipped(head_)) continue;
    if (interval.end_ns > detour.end_ns + tolerance_ns) break;
    if (interval.start_ns + tolerance_ns >= detour.start_ns) {
      count(interval, true);
      matched_.push_back(interval);
    } else {
      count(interval, false);
      if (interval.end_ns <= detour.start_ns) continue;
      match.partial = true;
      matched_.push_back(interval);
    }
  }
  // One that began inside and goes on after the detour: the streams contradict each other. It stays for a later detour.
  if (head_ < held_.size() && held_[head_].start_ns + tolerance_ns < detour.end_ns) {
    match.partial = true;
    matched_.push_back(held_[head_]);
  }
  match.intervals = matched_;
  return match;
}

// Nothing is looked at here but what is forgotten at once: a recording may have as many gaps as waiting intervals.
void Matcher::skip(std::uint64_t until_ns) {
  const std::uint64_t added = dropped_ + held_.size();
  while (!skips_.empty() && skips_.back().until_ns <= until_ns) skips_.pop_back();
  if (skips_.empty() || skips_.back().before < added) skips_.push_back({added, until_ns});
  while (head_ < held_.size() && skipped(head_)) ++head_;
  drop_taken();
}

void Matcher::settle(std::uint64_t progress_ns, std::uint64_t tolerance_ns) {
  for (; head_ < held_.size() && held_[head_].end_ns + tolerance_ns < progress_ns; ++head_) {
    if (!skipped(head_)) count(held_[head_], false);
  }
  drop_taken();
}

std::vector<Interval> Matcher::waiting() const {
  std::vector<Interval> waiting;
  auto skip = skips_.begin();
  for (std::size_t at = head_; at < held_.size(); ++at) {
    while (skip != skips_.end() && skip->before <= dropped_ + at) ++skip;
    if (skip == skips_.end() || held_[at].start_ns > skip->until_ns) waiting.push_back(held_[at]);
  }
  return waiting;
}

void Matcher::finish(std::uint64_t last_ns) {
  for (; head_ < held_.size(); ++head_) {
    const Interval& interval = held_[head_];
    if (skipped(head_)) continue;
    if (interval.start_ns >= first_ns_ && interval.end_ns <= last_ns) count(interval, false);
  }
  drop_taken();
}

}  // namespace noised::account
