// SPDX-License-Identifier: Apache-2.0
// The tasks of a recording, numbered in the order in which they are first told of.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "watch/task_run.h"

namespace noised {

/// A pid is another task's once its own has ended.
class TaskRows {
 public:
  struct Row {
    std::uint32_t pid = 0;
    std::uint32_t tgid = 0;   ///< of its process; 0: not known
    SourceId name = kNoName;  ///< the last; not known if it only had a CPU
  };

  /// The number of the task that has this pid.
  std::size_t of(std::uint32_t pid) {
    const auto [found, is_new] = now_.try_emplace(pid, rows_.size());
    if (is_new) rows_.push_back({pid, 0, kNoName});
    return found->second;
  }
  std::size_t lost(const Loss& loss) {
    const std::size_t row = of(loss.pid);
    rows_[row].name = loss.name;
    return row;
  }
  std::size_t ran(const TaskRun& run) {
    const std::size_t row = of(run.pid);
    rows_[row].name = run.name;
    rows_[row].tgid = run.tgid;
    if (run.ended) now_.erase(run.pid);
    return row;
  }
  [[nodiscard]] const std::vector<Row>& all() const { return rows_; }

 private:
  std::vector<Row> rows_;
  std::unordered_map<std::uint32_t, std::size_t> now_;  // by pid
};

}  // namespace noised
