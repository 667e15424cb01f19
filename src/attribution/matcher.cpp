// SPDX-License-Identifier: Apache-2.0
// Matching by time; both streams are in order, so each interval is looked at once.
#include "attribution/matcher.h"

namespace noised {

Matcher::Matcher(std::uint64_t threshold_ns, std::size_t capacity) : threshold_ns_(threshold_ns), capacity_(capacity) {}

bool Matcher::add(const Interval& interval) {
  if (held() >= capacity_) return false;
  held_.push_back(interval);
  return true;
}

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
  head_ = 0;
}

Matcher::Match Matcher::take(const Detour& detour, std::uint64_t tolerance_ns) {
  drop_taken();
  matched_.clear();
  Match match;
  for (; head_ < held_.size() && held_[head_].end_ns <= detour.end_ns + tolerance_ns; ++head_) {
    const Interval& interval = held_[head_];
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

void Matcher::skip(std::uint64_t until_ns) {
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(head_));
  head_ = 0;
  std::erase_if(held_, [&](const Interval& interval) { return interval.start_ns <= until_ns; });
}

void Matcher::finish(std::uint64_t last_ns) {
  for (; head_ < held_.size(); ++head_) {
    const Interval& interval = held_[head_];
    if (interval.start_ns >= first_ns_ && interval.end_ns <= last_ns) count(interval, false);
  }
  drop_taken();
}

}  // namespace noised
