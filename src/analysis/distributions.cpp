// SPDX-License-Identifier: Apache-2.0
// Counting both sides, and what tells them apart.
#include "analysis/distributions.h"

#include <algorithm>

#include "analysis/distance.h"
#include "statistics/saturating.h"

namespace noised {

void LeastOverhead::add(const Ledger& ledger) {
  if (ledger.explained_ns == 0 || ledger.detour.in_doubt) return;
  least_ns_ = std::min(least_ns_.value_or(UINT64_MAX), ledger.overhead_ns);
}

std::uint64_t LeastOverhead::bound_ns(std::uint64_t threshold_ns) const {
  return std::max(threshold_ns, least_ns_.value_or(0));
}

Distributions::Distributions(std::uint64_t joined_within_ns)
    : stretches_(joined_within_ns, [this](const Stretch& stretch) { take(stretch); }) {
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
}

void Distributions::add(const Ledger& ledger) {
  stretches_.detour(ledger.detour.start_ns, ledger.detour.end_ns);
  const std::uint64_t duration_ns = ledger.detour.end_ns - ledger.detour.start_ns;
  note_length(duration_ns);
  ++result_.detours;
  user_.add(duration_ns);
  if (ledger.explained_ns == 0) return;
  ++result_.detours_with_activity;
  user_with_activity_.add(duration_ns);
  user_explained_.add(ledger.explained_ns);
  result_.overhead_ns = saturating_add(result_.overhead_ns, ledger.overhead_ns);
  result_.without_cause_ns = saturating_add(result_.without_cause_ns, ledger.outside_ns + ledger.unexplained_ns);
}

DensityComparison Distributions::finish(unsigned cpu) {
  stretches_.finish();
  result_.cpu = cpu;
  result_.instants = stretches_.instants();
  result_.cut_stretches = stretches_.cut();
  result_.as_seen = distance(user_, rebuilt_);
  result_.with_activity = distance(user_with_activity_, rebuilt_in_detours_);
  result_.explained = distance(user_explained_, rebuilt_busy_);
  result_.curves = estimate_densities(user_, rebuilt_);
  return result_;
}

}  // namespace noised
