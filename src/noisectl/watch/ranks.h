// SPDX-License-Identifier: Apache-2.0
// Which rank of a parallel job a process is, by what its launcher put into its environment. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "model/watch.h"
#include "system/proc_tasks.h"

namespace noised::client {

/// What an environment says.
struct RankClaim {
  std::uint32_t rank = 0;
  std::string job;         ///< PMIx's name of it, or Slurm's job and step; empty: not told
  std::string allocation;  ///< Slurm's job, in which several launchers may run; empty: not told
  unsigned variable = 0;   ///< that told the rank: the place among those known, the most to be believed first
};

/// The rank in a text such as /proc/PID/environ; nothing if a process of that environment is none.
std::optional<RankClaim> parse_rank(std::string_view environment);

/// What is known of processes, by their numbers; nothing: the process is no rank.
using RankClaims = std::map<std::uint32_t, std::optional<RankClaim>>;

/// Tells each task of the report its rank, and sums the ranks up. Processes without a claim, not even none, are counted
/// as unknown.
void add_ranks(const RankClaims& claims, WatchReport& report);

// The ranks of a report's tasks: here, and not in the daemon, since users may read of their processes what it must not.

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
  system::ProcTasks tasks_;
  std::map<std::uint32_t, Process> processes_;  // those of the last report
};

}  // namespace noised::client
