// SPDX-License-Identifier: Apache-2.0
// Where phases begin of which the last lets all others go: not anywhere. Pure.
#pragma once

#include <vector>

#include "analysis/delay_tail.h"

namespace noised {

/// By the buckets of a CPU's delays: of its begins inside a detour whose delay is at least the bucket's lower bound,
/// the share that can be.
using KeptShares = std::vector<double>;

/// A rank that is in a detour when the barrier lets it go came there while it waited, since before it ended its work:
/// the detour's age is at most its wait. So of begins at this age, the share P(wait >= age) is kept, where a rank waits
/// for the longest delay of all others: 1 - F(age)^(ranks - 1), from which F follows again (iterated, as F decides how
/// long the wait is). With one rank no phase begins inside a detour, with very many they begin anywhere, as Tsafrir et
/// al. (2005) have it. `cpus` make a node. Two things are taken for simpler than they are: delays of other detours in
/// the same phase are small beside that of the one it begins in, and ranks wait independently, though they all wait for
/// the same one: with detours of three grains, the slowdown comes out up to 4.3% of itself too high
/// (analysis_barrier_test).
std::vector<KeptShares> kept_at_barrier(const std::vector<DelayTail>& cpus, double nodes);

}  // namespace noised
