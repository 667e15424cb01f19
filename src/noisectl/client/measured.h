// SPDX-License-Identifier: Apache-2.0
// What was measured, event by event: a recording, or what a daemon records now.
#pragma once

#include <noised/result.h>

#include <string>

#include "base/descriptor.h"
#include "noisectl/options.h"
#include "recording/player.h"

namespace noised::client {

class Measured {
 public:
  /// options.replay, or what the daemon measures in the next options.duration_ns (10 s), which is waited for.
  static Result<Measured> get(const Options& options);

  /// From the beginning; as often as it is wanted.
  [[nodiscard]] Result<Player> play() const { return Player::open(path_); }
  /// What is wrong with the end of a player that has played it all.
  static Status whole(const Player& player);

 private:
  Measured(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  Descriptor file_;  // without a name, of what was recorded now
};

/// Plays all that is left, and shows on a terminal how far it is.
void play_all(Player& player, PlayerVisitor* visitor = nullptr);

}  // namespace noised::client
