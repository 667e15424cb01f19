// SPDX-License-Identifier: Apache-2.0
// What was measured, event by event: a recording, or what a daemon records now.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/files.h"
#include "base/result.h"
#include "model/views.h"
#include "noisectl/client/options.h"
#include "recording/player.h"

namespace noised::client {

// The histograms of one CPU out of all.

/// Leaves only those of this CPU; a usage error if there are none.
inline Status keep_cpu(unsigned cpu, HistogramView& view) {
  std::erase_if(view.series, [cpu](const HistogramSeriesView& each) { return each.cpu != cpu; });
  if (!view.series.empty()) return success();
  return usage_error(fmt::format("--cpu {}: no histogram of this CPU", cpu),
                     "'noisectl status' shows the CPUs that are measured");
}

/// An error if the options need a loop, and the mode of the daemon has none.
Status check_loops(const MeasureOptions& options, std::string_view mode);

class Measured {
 public:
  /// options.replay, or what the daemon measures in the next options.duration_ns (10 s), which is waited for.
  static Result<Measured> get(const MeasureOptions& options);

  /// From the beginning; as often as it is wanted.
  [[nodiscard]] Result<recording::Player> play() const { return recording::Player::open(path_); }
  /// What is wrong with the end of a player that has played it all.
  static Status whole(const recording::Player& player);

 private:
  Measured(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  Descriptor file_;  // without a name, of what was recorded now
};

/// Plays all that is left, and shows on a terminal how far it is.
void play_all(recording::Player& player, recording::PlayerVisitor* visitor = nullptr);

}  // namespace noised::client
