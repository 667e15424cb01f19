// SPDX-License-Identifier: Apache-2.0
// What a selection of tasks lost since somebody began to watch it. Pure: no clock, no I/O.
#pragma once

#include "model/watch.h"

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "account/attributor.h"
#include "account/ledger_counter.h"
#include "account/task_run.h"
#include "model/histogram.h"

namespace noised::account {

/// Memory is bounded: of more tasks than kTasks, those that have ended and lost least are forgotten, or if none has,
/// those that have not run for longest; sums are kept of all.
class WatchAccount {
 public:
  static constexpr std::size_t kTasks = 8192;  ///< 2 MiB
  static constexpr std::size_t kShown = 256;   ///< in a report

  /// `sources` outlives this. Watching begins at `began_ns`: what began earlier is not counted.
  WatchAccount(const SourceTable& sources, std::uint64_t began_ns);

  /// A run of one of the tasks.
  void ran(const TaskRun& run, const RunFacts& facts);
  /// A loss of one of them, divided.
  void lost(const Loss& loss, const DetourLedger& ledger);
  /// A task that is not told of again: it has ended.
  void gone(std::uint64_t life);
  /// Names leave, as LedgerCounter::let_go() has it; those of the tasks stay.
  void let_go(const Departures& departures) { counter_.let_go(departures); }
  /// Fills everything that was counted; of the tasks, those that lost most.
  void fill(WatchReport& report) const;
  /// Adds to a filled report a run that has not ended yet.
  void add_current(const CurrentTask& current, std::uint64_t now_ns, WatchReport& report) const;
  /// What interruptions took beside what was told; `measured` is for who knows it to fill.
  [[nodiscard]] const WatchUntold& untold() const { return untold_; }
  [[nodiscard]] std::uint64_t began_ns() const { return began_ns_; }

 private:
  struct Task {
    std::uint32_t pid = 0;
    std::uint32_t tgid = 0;
    SourceId source = kNoName;  // the name is of it, and stays when that leaves
    std::string name;
    bool ended = false;
    std::uint64_t life = 0;
    std::uint64_t seen_ns = 0;  // it ran until then, or later
    WatchCounts counts;
    std::uint64_t stolen_ns = 0;
    std::uint64_t interruptions = 0;
    std::array<std::uint64_t, kCategoryCount> categories{};
  };
  Task& task(std::uint64_t life, std::uint32_t pid, std::uint64_t seen_ns);
  void name(SourceId source, Task& task) const;
  void make_room();
  void forget_ended();
  void forget_silent();
  void end(std::uint64_t life);
  [[nodiscard]] std::vector<std::uint64_t> replaced() const;
  [[nodiscard]] WatchTask view(const Task& task, bool ended) const;
  void fill_ledger(WatchReport& report) const;

  const SourceTable& sources_;
  std::uint64_t began_ns_;
  LedgerCounter counter_;
  WatchUntold untold_;
  WatchCounts counts_;
  std::uint64_t seen_ = 0;
  std::uint64_t forgotten_life_ = 0;  // the latest of those forgotten that may run again: up to it, none is new
  Histogram runs_;
  Histogram waits_;
  std::unordered_map<std::uint64_t, Task> tasks_;  // by life
  std::vector<Task> ended_;
};

}  // namespace noised::account
