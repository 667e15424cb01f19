// SPDX-License-Identifier: Apache-2.0
// noisectl --replay FILE watch: what was taken from tasks while they were recorded.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "account/watch_account.h"
#include "base/result.h"
#include "model/watch.h"
#include "recording/player.h"
#include "system/task_selection.h"

namespace noised::client {

struct TaskWatchOptions;

// Who ran in a recording, and which of them a selection means. Pure: no I/O.

/// A recording is played to it to learn who is there; then, after settle(), once more, to be asked on the way. A pid is
/// another task's once its own has ended.
class RecordedTasks : public recording::PlayerVisitor {
 public:
  /// Of a selection by pids: those processes, or those that have these threads; by comm: tasks that ever had that name.
  RecordedTasks(system::Selection selection, const SourceTable& sources)
      : selection_(std::move(selection)), sources_(sources) {}

  void loss(std::size_t cpu, const account::Loss& loss, const account::DetourLedger& ledger,
            std::string_view details) override;
  void ran(std::size_t cpu, const account::TaskRun& run, const account::RunFacts& facts) override;

  /// All was played: chooses. False if the selection means nobody.
  bool settle();
  /// After settle(), at this place of the second playing: the task with this pid is chosen.
  [[nodiscard]] bool is_chosen(std::uint32_t pid) const;

 private:
  struct Life {
    std::uint32_t tgid = 0;  ///< of its process; 0: no run of it has ended
    bool chosen = false;
  };
  struct Lives {
    std::vector<Life> all;
    std::size_t now = 0;
  };
  Life& life(std::uint32_t pid);
  void note_name(Life& life, SourceId name) const;

  system::Selection selection_;
  const SourceTable& sources_;
  std::unordered_map<std::uint32_t, Lives> lives_;  // by pid
  bool settled_ = false;
};

/// Plays options.replay twice, and prints the report of the tasks that the options select.
Status run_replay_watch(const TaskWatchOptions& options);

/// Counts what chosen tasks lost, as a daemon does that is asked for them when the recording begins.
class ReplayedAccount : public recording::PlayerVisitor {
 public:
  /// `tasks` are settled. All of it outlives this.
  ReplayedAccount(RecordedTasks& tasks, const recording::Playback& playback)
      : tasks_(tasks), account_(playback.sources(), playback.description().base.clock.monotonic_ns) {}

  void loss(std::size_t cpu, const account::Loss& loss, const account::DetourLedger& ledger,
            std::string_view details) override;
  void ran(std::size_t cpu, const account::TaskRun& run, const account::RunFacts& facts) override;
  /// The report of what was played.
  [[nodiscard]] WatchReport report(const recording::Player& player) const;

 private:
  RecordedTasks& tasks_;
  account::WatchAccount account_;
};

}  // namespace noised::client
