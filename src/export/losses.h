// SPDX-License-Identifier: Apache-2.0
// What a recording lost, by the places of its CPUs.
#pragma once

#include <noised/report.h>

#include <cstdint>
#include <vector>

#include "recording/player.h"

namespace noised {

struct LossesByCpu {
  std::vector<std::uint64_t> on;  ///< by place of the CPU
  std::uint64_t anywhere = 0;     ///< the kernel does not tell on which CPU
};

/// Events and detours that were lost. Times when a loop was off its CPU are no such losses: exports show them as times.
LossesByCpu losses_by_cpu(const Playback& playback, const ReportLost& lost);

}  // namespace noised
