// SPDX-License-Identifier: Apache-2.0
// Watched tasks in a trace of Perfetto: each a group with a row for when it ran, one for its interruptions and one for
// its waits.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "export/lanes.h"
#include "export/perfetto/perfetto_cpu.h"
#include "recording/player.h"

namespace noised::exports {

class PerfettoTasks {
 public:
  /// Both outlive it.
  PerfettoTasks(PerfettoFile& file, const recording::Playback& playback) : file_(file), playback_(playback) {}

  void loss(std::size_t cpu, const account::Loss& loss, const account::DetourLedger& ledger, std::string_view details);
  void ran(std::size_t cpu, const account::TaskRun& run);
  /// Draws what is still open, and tasks that still have their CPU.
  void finish();
  /// Bars that could not be drawn: too many of one task overlapped each other.
  [[nodiscard]] std::uint64_t not_drawn() const { return not_drawn_; }

 private:
  struct Rows {
    PerfettoRow runs;
    PerfettoRow interrupted;
    PerfettoRow waited;
  };
  Rows& rows_of(std::size_t task);
  void draw_run(Rows& rows, std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns);

  PerfettoFile& file_;
  const recording::Playback& playback_;
  TaskRows tasks_;
  std::unordered_map<std::size_t, Rows> rows_;  // by task; those that have ended are forgotten
  std::uint64_t not_drawn_ = 0;
};

}  // namespace noised::exports
