// SPDX-License-Identifier: Apache-2.0
// noisectl --replay FILE watch: what was taken from tasks while they were recorded.
#pragma once

#include <noised/result.h>
#include <noised/watch.h>

#include "noisectl/options.h"
#include "noisectl/recorded_tasks.h"
#include "pipeline/watch_account.h"
#include "recording/player.h"

namespace noised::client {

/// Plays options.replay twice, and prints the report of the tasks that the options select.
Status run_replay_watch(const Options& options);

/// Counts what chosen tasks lost, as a daemon does that is asked for them when the recording begins.
class ReplayedAccount : public PlayerVisitor {
 public:
  /// `tasks` are settled. All of it outlives this.
  ReplayedAccount(RecordedTasks& tasks, const Playback& playback)
      : tasks_(tasks), account_(playback.sources(), playback.description().base.clock.monotonic_ns) {}

  void loss(std::size_t cpu, const Loss& loss, const Ledger& ledger, std::string_view details) override;
  void ran(std::size_t cpu, const TaskRun& run, const RunFacts& facts) override;
  /// The report of what was played.
  [[nodiscard]] WatchReport report(const Player& player) const;

 private:
  RecordedTasks& tasks_;
  WatchAccount account_;
};

}  // namespace noised::client
