// SPDX-License-Identifier: Apache-2.0
// Who ran in a recording, and which of them a selection means. Pure: no I/O.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "recording/player.h"
#include "trace/selection.h"

namespace noised::client {

/// A recording is played to it to learn who is there; then, after settle(), once more, to be asked on the way. A pid is
/// another task's once its own has ended.
class RecordedTasks : public PlayerVisitor {
 public:
  /// Of a selection by pids: those processes, or those that have these threads; by comm: tasks that ever had that name.
  RecordedTasks(Selection selection, const SourceTable& sources)
      : selection_(std::move(selection)), sources_(sources) {}

  void loss(std::size_t cpu, const Loss& loss, const Ledger& ledger, std::string_view details) override;
  void ran(std::size_t cpu, const TaskRun& run, const RunFacts& facts) override;

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

  Selection selection_;
  const SourceTable& sources_;
  std::unordered_map<std::uint32_t, Lives> lives_;  // by pid
  bool settled_ = false;
};

}  // namespace noised::client
