// SPDX-License-Identifier: Apache-2.0
// The ranks of a report's tasks: here, and not in the daemon, since users may read of their processes what it must not.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <noised/watch.h>

#include "noisectl/ranks.h"
#include "trace/proc_tasks.h"

namespace noised::client {

class RankWatch {
 public:
  /// `root` is where /proc is mounted.
  explicit RankWatch(std::string root = "/proc") : root_(std::move(root)), tasks_(root_) {}

  /// Adds the ranks to a report, and whose process a task is that has not left its CPU; reports come in order.
  void take(WatchReport& report);

 private:
  struct Process {
    unsigned looks = 0;  // at an environment without a rank
    std::string name;    // then
    std::optional<RankClaim> claim;
  };
  void look(const WatchTask& task, Process& process) const;
  [[nodiscard]] std::uint32_t process_of(const WatchTask& task) const;

  std::string root_;
  ProcTasks tasks_;
  std::map<std::uint32_t, Process> processes_;  // those of the last report
};

}  // namespace noised::client
