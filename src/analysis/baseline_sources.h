// SPDX-License-Identifier: Apache-2.0
// The sources of two runs, compared.
#pragma once

#include "analysis/baseline_diff.h"

namespace noised {

/// Tests each source for how often it comes and for how long it stays, block against block, and sets tests, changes,
/// undecided and not_compared of `diff`, by its least effect. Blocks of both have the same length.
void compare_sources(Baseline before, Baseline after, BaselineDiff& diff);

}  // namespace noised
