// SPDX-License-Identifier: Apache-2.0
// In two steps: the union of intervals, whose last pieces wait for an interval around them; then pieces join over
// short pauses. Each interval is pushed and popped once.
#include "analysis/stretches.h"

#include <algorithm>
#include <utility>

#include "statistics/saturating.h"

namespace noised {

Stretches::Stretches(std::uint64_t joined_within_ns, std::function<void(const Stretch&)> take)
    : joined_within_ns_(joined_within_ns), take_(std::move(take)) {}

void Stretches::begin(std::uint64_t first_ns) {
  while (!held_.empty() && held_.front().start_ns < first_ns) {
    if (held_.front().in_detour) {
      settle_first();
    } else {
      held_.pop_front();
    }
  }
  close();
  first_ns_ = first_ns;
}

void Stretches::add(const Interval& interval) {
  if (interval.start_ns < first_ns_) return;
  Piece piece{interval.start_ns, interval.end_ns, false};
  while (!held_.empty() && held_.back().end_ns >= piece.start_ns) {
    piece.start_ns = std::min(piece.start_ns, held_.back().start_ns);
    piece.end_ns = std::max(piece.end_ns, held_.back().end_ns);
    piece.in_detour |= held_.back().in_detour;
    held_.pop_back();
  }
  held_.push_back(piece);
  if (held_.size() <= kMostHeld) return;
  ++cut_;
  settle_first();
}

void Stretches::detour(std::uint64_t start_ns, std::uint64_t end_ns) {
  settle_before(start_ns);
  for (Piece& piece : held_) {
    if (piece.start_ns > end_ns) break;
    piece.in_detour = true;
  }
}

void Stretches::skip(std::uint64_t start_ns, std::uint64_t end_ns) {
  settle_before(start_ns);
  while (!held_.empty() && held_.front().start_ns <= end_ns) held_.pop_front();
  close();
  first_ns_ = std::max(first_ns_, saturating_add(end_ns, 1));
}

void Stretches::finish() {
  while (!held_.empty()) settle_first();
  close();
}

void Stretches::settle_before(std::uint64_t time_ns) {
  while (!held_.empty() && held_.front().end_ns < time_ns) settle_first();
}

void Stretches::settle_first() {
  const Piece piece = held_.front();
  held_.pop_front();
  const bool joins = open_ && (piece.start_ns <= open_->end_ns || piece.start_ns - open_->end_ns <= joined_within_ns_);
  if (!joins) {
    close();
    open_ = Stretch{piece.start_ns, piece.end_ns, piece.end_ns - piece.start_ns, piece.in_detour};
    return;
  }
  // One that was cut may be followed by an interval around it: no time may count twice.
  const std::uint64_t from_ns = std::max(piece.start_ns, open_->end_ns);
  if (piece.end_ns > from_ns) open_->busy_ns += piece.end_ns - from_ns;
  open_->end_ns = std::max(open_->end_ns, piece.end_ns);
  open_->in_detour |= piece.in_detour;
}

void Stretches::close() {
  if (!open_) return;
  if (open_->busy_ns == 0) {
    ++instants_;
  } else {
    take_(*open_);
  }
  open_.reset();
}

}  // namespace noised
