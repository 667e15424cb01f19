// SPDX-License-Identifier: Apache-2.0
// noisectl histogram --range: who makes up a peak.
#pragma once

#include <noised/result.h>
#include <noised/views.h>

#include "noisectl/options.h"
#include "recording/player.h"

namespace noised::client {

/// Prints who makes up options.range of what the player plays, all of which it plays; a usage error where options.cpu
/// is not in it.
Status print_peak(const Options& options, Player& player);
/// The same out of the histograms' buckets.
Status print_peak(const Options& options, const HistogramView& histograms);

}  // namespace noised::client
