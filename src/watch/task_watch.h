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

#include "watch/entry_costs.h"
#include "watch/stretches.h"
#include "watch/task_run.h"
#include "watch/timeline.h"

namespace noised {

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

/// CPUs are told by their place. Of each, intervals and runs are added in the order in which they ended.
class TaskWatch {
 public:
  static constexpr std::size_t kTimeline = 32768;  ///< intervals remembered of each CPU, 1.5 MiB
  static constexpr std::size_t kTasks = 32768;     ///< live tasks followed at most, 3 MiB; of others no waits are known

  /// `sink` outlives this.
  TaskWatch(std::size_t cpus, WatchSink& sink) : timelines_(cpus, Timeline(kTimeline)), told_ns_(cpus), sink_(sink) {}

  /// From now on, what is lost is told with these costs. Before, they are unknown.
  void set_costs(const EntryCosts& costs) { costs_ = costs; }
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
  std::size_t tell_interruptions(std::size_t cpu, const Stretch& stretch, const Loss& of);
  void settle(const Ended& ended);
  RunFacts facts_of(const Ended& ended, const Task* before);
  void tell_wait(const Ended& ended, const RunFacts& facts, const Task* before);

  std::vector<Timeline> timelines_;
  std::vector<std::uint64_t> told_ns_;  // by CPU: interruptions are told until then
  EntryCosts costs_;
  WatchSink& sink_;
  std::unordered_map<std::uint32_t, Task> tasks_;  // by pid; those that have ended are forgotten
  std::vector<Ended> ended_;                       // since the last settle()
  std::vector<Interval> scratch_;
  std::uint64_t not_followed_ = 0;
};

}  // namespace noised
