// SPDX-License-Identifier: Apache-2.0
// noisectl replay-noise: what a recording's CPUs lost, lost again by CPUs of this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "noisectl/client/options.h"
#include "recording/player.h"
#include "selftest/noise_replay.h"

namespace noised::client {

struct ReplayNoiseOptions : SharedOptions {
  std::string recording;
  std::vector<unsigned> cpus;                ///< rising, as the recording's; all of them where that has only one
  std::vector<std::string> sources;          ///< "KIND:NAME": only what goes with these; empty: whole detours
  std::optional<std::uint64_t> duration_ns;  ///< only the first so long; nothing: all
  int priority = 1;                          ///< of SCHED_FIFO
  std::string thread_name = "replayed";
  bool json = false;
};

/// What each CPU is to lose: the detours of the recording, or what Removal says that they would be shorter by without
/// the sources. A usage error where CPUs or sources are none of the recording's, and an error where that is damaged,
/// has more than ten million of them, or one that lasts longer than a minute.
Result<std::vector<selftest::ReplayPlan>> plan_replay(recording::Player& player, const ReplayNoiseOptions& options);

}  // namespace noised::client
