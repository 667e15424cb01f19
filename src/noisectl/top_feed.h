// SPDX-License-Identifier: Apache-2.0
// Where the live view gets what it shows: a daemon (top_screen.cpp), or a recording (replay_feed.h).
#pragma once

#include <noised/result.h>

#include <optional>

#include "noisectl/top_chains.h"
#include "noisectl/top_delta.h"

namespace noised::client {

/// For one thread, which draws: no call waits.
class TopFeed {
 public:
  TopFeed() = default;
  TopFeed(const TopFeed&) = delete;
  TopFeed& operator=(const TopFeed&) = delete;
  virtual ~TopFeed() = default;

  /// Readable when there is something to take.
  [[nodiscard]] virtual int fd() const = 0;
  /// The newest sample, or why there is none; nothing if there is no news.
  virtual std::optional<Result<TopSample>> take() = 0;
  /// Paused, there is no news.
  virtual void pause(bool paused) = 0;
  /// Follows the chains of this source from now on, or of none.
  virtual void follow(std::optional<TopKey> source) = 0;
  /// What is known of the source that is followed, if anything.
  virtual std::optional<TopChainsView> view() = 0;
};

}  // namespace noised::client
