// SPDX-License-Identifier: Apache-2.0
// Counting both sides, and what tells them apart.
#include "analysis/density/distributions.h"

#include <algorithm>
#include <utility>

#include "analysis/density/density.h"
#include "base/saturating.h"

namespace noised::analysis {

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
  Piece piece{interval.start_ns, interval.end_ns, false, interval.kind};
  while (!held_.empty() && held_.back().end_ns >= piece.start_ns) {
    // What began later is inside of it, or comes after it.
    if (held_.back().start_ns < piece.start_ns) piece.entry = held_.back().entry;
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
    open_ = Stretch{piece.start_ns, piece.end_ns, piece.end_ns - piece.start_ns, piece.in_detour, piece.entry};
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

void LeastOverhead::add(const account::DetourLedger& ledger) {
  if (ledger.explained_ns == 0 || ledger.detour.in_doubt) return;
  least_ns_ = std::min(least_ns_.value_or(UINT64_MAX), ledger.overhead_ns);
}

std::uint64_t LeastOverhead::bound_ns(std::uint64_t threshold_ns) const {
  return std::max(threshold_ns, least_ns_.value_or(0));
}

namespace {

std::size_t parity_of(std::uint64_t time_ns) { return time_ns / 1'000'000'000 % 2; }

}  // namespace

void FixedOverheads::add(const account::DetourLedger& ledger) {
  if (ledger.entries.empty() || ledger.explained_ns == 0 || ledger.detour.in_doubt) return;
  const auto kind = static_cast<std::size_t>(ledger.entries.front().kind);
  Sum& sum = sums_[parity_of(ledger.detour.start_ns)][kind];
  sum.ns = saturating_add(sum.ns, ledger.overhead_ns);
  ++sum.count;
}

std::optional<std::uint64_t> FixedOverheads::of(std::uint64_t start_ns, Kind entry) const {
  const Sum& sum = sums_[1 - parity_of(start_ns)][static_cast<std::size_t>(entry)];
  return sum.count < kLeast ? std::nullopt : std::optional(sum.ns / sum.count);
}

Distributions::Distributions(std::uint64_t joined_within_ns, FixedOverheads overheads)
    : stretches_(joined_within_ns, [this](const Stretch& stretch) { take(stretch); }), overheads_(overheads) {
  result_.joined_within_ns = joined_within_ns;
}

void Distributions::note_length(std::uint64_t duration_ns) {
  const bool first = result_.detours + result_.stretches == 0;
  result_.shortest_ns = first ? duration_ns : std::min(result_.shortest_ns, duration_ns);
  result_.longest_ns = std::max(result_.longest_ns, duration_ns);
}

void Distributions::take(const Stretch& stretch) {
  const std::uint64_t duration_ns = stretch.end_ns - stretch.start_ns;
  note_length(duration_ns);
  ++result_.stretches;
  rebuilt_.add(duration_ns);
  if (!stretch.in_detour) return;
  ++result_.stretches_in_detours;
  rebuilt_in_detours_.add(duration_ns);
  rebuilt_busy_.add(stretch.busy_ns);
  const auto overhead_ns = overheads_.of(stretch.start_ns, stretch.entry);
  if (!overhead_ns) return;
  ++result_.predicted_stretches;
  rebuilt_predicted_.add(saturating_add(duration_ns, *overhead_ns));
}

void Distributions::add(const account::DetourLedger& ledger) {
  stretches_.detour(ledger.detour.start_ns, ledger.detour.end_ns);
  const std::uint64_t duration_ns = ledger.detour.end_ns - ledger.detour.start_ns;
  note_length(duration_ns);
  ++result_.detours;
  user_.add(duration_ns);
  if (ledger.explained_ns == 0) return;
  ++result_.detours_with_activity;
  user_with_activity_.add(duration_ns);
  user_explained_.add(ledger.explained_ns);
  if (!ledger.entries.empty() && overheads_.of(ledger.detour.start_ns, ledger.entries.front().kind))
    user_predicted_.add(duration_ns);
  result_.overhead_ns = saturating_add(result_.overhead_ns, ledger.overhead_ns);
  result_.without_cause_ns = saturating_add(result_.without_cause_ns, ledger.outside_ns() + ledger.unexplained_ns);
}

DensityComparison Distributions::finish(unsigned cpu) {
  stretches_.finish();
  result_.cpu = cpu;
  result_.instants = stretches_.instants();
  result_.cut_stretches = stretches_.cut();
  result_.as_seen = distance(user_, rebuilt_);
  result_.with_activity = distance(user_with_activity_, rebuilt_in_detours_);
  result_.predicted = distance(user_predicted_, rebuilt_predicted_);
  result_.explained = distance(user_explained_, rebuilt_busy_);
  result_.curves = estimate_densities(user_, rebuilt_);
  return result_;
}

}  // namespace noised::analysis
