// SPDX-License-Identifier: Apache-2.0
#include "noisectl/replay/replay.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "noisectl/client/measured.h"
#include "noisectl/client/output.h"
#include "noisectl/replay/replay_feed.h"

namespace noised::client {

Status run_replay(const std::string& path, const std::function<Status(recording::Player&)>& show) {
  auto player = recording::Player::open(path);
  if (!player) return player.error();
  if (Status shown = show(player.value()); !shown) return shown;
  return Measured::whole(player.value());
}

Status run_replay_top(const TopOptions& options) {
  if (Status terminal = need_terminal(); !terminal) return terminal;
  const StopSignals stop;
  const std::chrono::nanoseconds interval(
      static_cast<std::int64_t>(std::min(options.interval_ns, std::uint64_t{1} << 62U)));
  Result<std::unique_ptr<ReplayFeed>> feed = ReplayFeed::start(options.replay, options.speed, interval);
  if (!feed) return feed.error();
  if (Status shown = show_top(options, stop, *feed.value()); !shown) return shown;
  const std::string damage = feed.value()->damage();
  return damage.empty() ? success() : failure(damage, "everything before that was shown");
}

}  // namespace noised::client
