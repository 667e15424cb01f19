// SPDX-License-Identifier: Apache-2.0
// What noised tells of watched tasks: the report, and each run and interruption by the tables of a recording.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "command.h"
#include "unit/base/temporary_directory.h"
#include "views/watch.h"
#include "watching_daemon.h"

namespace noised::live {

struct ToldRun {
  std::uint64_t start_ns = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t waited_ns = 0;  ///< before it
  std::string wait;             ///< "queued" or "preempted"; empty: none, or one that it had given the CPU away for
  bool involuntary = false;     ///< by the kernel's count, the switch that ends it
  bool ended = false;
  bool migrated = false;
};

/// An interval that interrupted a task while it had the CPU.
struct ToldInterruption {
  std::uint64_t start_ns = 0;
  std::uint64_t self_ns = 0;
  std::string source;  ///< "softirq:TIMER"
};

struct ToldTask {
  std::vector<ToldRun> runs;                    ///< in order
  std::vector<ToldInterruption> interruptions;  ///< in order of their start
};

struct ToldTasks {
  WatchReport report;
  std::map<int, ToldTask> tasks;  ///< by pid; of those in the report
};

/// Follows a process, which exists and waits, from construction to its end: by `noisectl watch`, and by a recording.
class ToldSession {
 public:
  ToldSession(const WatchingDaemon& daemon, pid_t pid);

  /// Waits until the process and all of its threads and children have ended.
  void wait();
  /// What was told of them; once, after wait(). Takes two seconds.
  ToldTasks tell();

 private:
  [[nodiscard]] std::uintmax_t recorded_bytes() const;

  test::TemporaryDirectory directory_;
  std::string file_;
  Background watch_;
  Background recorder_;
  ToldTasks told_;
};

}  // namespace noised::live
