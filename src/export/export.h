// SPDX-License-Identifier: Apache-2.0
// What the formats of other tools have in common: a recording that is played from its beginning, and files to create.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/report.h"
#include "recording/player.h"

namespace noised::exports {

/// Plays the recording from its beginning; as often as it is wanted.
using Play = std::function<Result<recording::Player>()>;
/// Is told from time to time which share of the work is done, from 0 to 1; false: the export is not wanted any more.
using Progress = std::function<bool(double share)>;

/// Plays all that is left, and tells progress; ends early once `go_on` says false. Fails where it was interrupted.
Status play_all(recording::Player& player, recording::PlayerVisitor& visitor, const Progress& progress,
                const std::function<bool()>& go_on);

/// What an export says that `progress` ended: what it wrote goes with it.
Error interrupted();

/// Fails if the recording ended too early: what was exported is what came before the damage.
Status exported_whole(const recording::Player& player);

/// "vector:local_timer", as in the report's combinations, in UTF-8 (as_utf8()).
std::string source_text(const Source& source);

/// What the flags of an interval mean, such as "split preempted"; empty if they mean nothing special.
std::string flags_text(const Interval& interval);

/// Told for each detail of a detour: the index of its entry in the ledger, and "waker", "systemd". A value that was cut
/// for want of room is told as "cut", "true".
using TakeDetail = std::function<void(std::size_t entry, std::string_view key, std::string_view value)>;
/// Tells the details that a PlayerVisitor was given with a detour, in the order of their entries.
void each_detail(std::string_view details, const TakeDetail& take);

// What a recording lost, by the places of its CPUs.

struct LossesByCpu {
  std::vector<std::uint64_t> on;  ///< by place of the CPU
  std::uint64_t anywhere = 0;     ///< the kernel does not tell on which CPU
};

/// Events and detours that were lost. Times when a loop was off its CPU are no such losses: exports show them as times.
LossesByCpu losses_by_cpu(const recording::Playback& playback, const ReportLost& lost);

}  // namespace noised::exports
