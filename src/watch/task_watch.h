// SPDX-License-Identifier: Apache-2.0
// From what happened on the watched CPUs to what each task lost: interruptions while it had a CPU, and waits for one.
// Pure: no clock, no I/O.
#pragma once

#include <noised/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "watch/task_run.h"
#include "watch/timeline.h"

namespace noised {

/// What is known of a run besides its times, once it is in order with those of the other CPUs.
struct RunFacts {
  bool known = false;             ///< the task was seen before, or was born meanwhile: the counts below tell all of it
  bool migrated = false;          ///< the run before was on another CPU
  std::uint32_t voluntary = 0;    ///< switches since the run before, the one at the end of this run included
  std::uint32_t involuntary = 0;  ///< likewise
  std::uint64_t waited_ns = 0;    ///< before it ran
  LossKind wait = LossKind::queued;  ///< preempted or queued
  std::uint32_t unseen_runs = 0;     ///< that the kernel counted since the run before
  std::uint64_t unseen_wait_ns = 0;  ///< before those, and before this one
  std::uint32_t minor_faults = 0;    ///< since the run before
  std::uint32_t major_faults = 0;
};

class WatchSink {
 public:
  WatchSink() = default;
  WatchSink(const WatchSink&) = delete;
  WatchSink& operator=(const WatchSink&) = delete;
  virtual ~WatchSink() = default;

  /// A task lost time on this CPU; these intervals had it. They are valid during the call.
  virtual void lost(std::size_t cpu, const Loss& loss, std::span<const Interval> intervals) = 0;
  /// A run has ended; those of a task come in order.
  virtual void ran(std::size_t cpu, const TaskRun& run, const RunFacts& facts) = 0;
};

/// The task that has a CPU now.
struct CurrentTask {
  std::uint32_t pid = 0;
  SourceId name = kNoName;
  std::uint8_t group = 0;
  std::uint64_t start_ns = 0;
};

/// CPUs are told by their place. Of each, intervals and runs are added in the order in which they ended.
class TaskWatch {
 public:
  static constexpr std::size_t kTimeline = 32768;  ///< intervals remembered of each CPU, 1.5 MiB
  static constexpr std::size_t kTasks = 32768;     ///< live tasks followed at most, 3 MiB; of others no waits are known

  /// `sink` outlives this.
  TaskWatch(std::size_t cpus, WatchSink& sink) : timelines_(cpus, Timeline(kTimeline)), sink_(sink) {}

  /// Anything that happened there, runs of kernel threads included; not those of other tasks.
  void add(std::size_t cpu, const Interval& interval);
  /// A task that is no kernel thread left the CPU. `as_interval`: for those who waited for it.
  void add(std::size_t cpu, const TaskRun& run, const Interval& as_interval);
  /// This task has the CPU since its start; nothing of its time that ended by `settled_ns` is still to come.
  void add(std::size_t cpu, const CurrentTask& current, std::uint64_t settled_ns);
  /// Everything that ended by `ns`, on all CPUs, was added.
  void settle(std::uint64_t ns);

  /// Runs whose task was one too many to be followed.
  [[nodiscard]] std::uint64_t not_followed() const { return not_followed_; }

 private:
  struct Task {
    TaskCounts counts;
    std::uint64_t end_ns = 0;  // of its last run
    std::size_t cpu = 0;       // there
    bool involuntary = false;  // that run's end
  };
  struct Ended {
    std::size_t cpu;
    TaskRun run;
  };
  void close_open(std::size_t cpu, const TaskRun& run);
  void settle(const Ended& ended);
  RunFacts facts_of(const Ended& ended, const Task* before);
  void tell_wait(const Ended& ended, const RunFacts& facts);

  std::vector<Timeline> timelines_;
  WatchSink& sink_;
  std::unordered_map<std::uint32_t, Task> tasks_;  // by pid; those that have ended are forgotten
  std::vector<Ended> ended_;                       // since the last settle()
  std::vector<Interval> scratch_;
  std::uint64_t not_followed_ = 0;
};

}  // namespace noised
