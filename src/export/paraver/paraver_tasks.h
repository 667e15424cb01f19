// SPDX-License-Identifier: Apache-2.0
// Where tasks were watched, for Paraver: each process a task of its own kind there, each of its threads a row.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "export/export.h"
#include "export/lanes.h"
#include "export/new_file.h"
#include "export/paraver/paraver_sort.h"

namespace noised::exports {

/// Makes the records of tasks: a state while it runs, and states of what it lost, by their self time.
class ParaverTasks : public recording::PlayerVisitor {
 public:
  /// A run that lasts: of more interruptions than these, the gaps between the older ones are taken for its own time.
  static constexpr std::size_t kMostHeld = std::size_t{1} << 16U;

  /// Both outlive it.
  ParaverTasks(const SourceTable& sources, ParaverSort& records) : sources_(sources), records_(records) {}

  void loss(std::size_t cpu, const account::Loss& loss, const account::DetourLedger& ledger,
            std::string_view details) override;
  void ran(std::size_t cpu, const account::TaskRun& run, const account::RunFacts& facts) override;
  /// After everything was played: tasks that still have their CPU.
  void finish(const recording::Playback& playback);

  [[nodiscard]] const TaskRows& rows() const { return rows_; }
  [[nodiscard]] bool good() const { return good_; }

 private:
  struct Span {
    std::uint64_t start_ns;
    std::uint64_t end_ns;
  };
  using Held = std::vector<Span>;  // what a task lost on a CPU, until the run is told in which that was
  void draw_run(std::size_t row, std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns);
  void draw_older(std::size_t row, std::size_t cpu, Held& held);
  void add(ParaverRecord record, std::size_t row, std::size_t cpu);

  const SourceTable& sources_;
  ParaverSort& records_;
  TaskRows rows_;
  std::map<std::pair<std::size_t, std::size_t>, Held> held_;  // by row and CPU
  bool good_ = true;
};

/// What export_paraver() does of such a recording, once its files are there; `base` is their name without its end.
Status write_paraver_tasks(recording::Player& player, const std::string& base, NewFile& trace, NewFile& config,
                           NewFile& names, const Progress& progress);

}  // namespace noised::exports
