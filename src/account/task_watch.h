// SPDX-License-Identifier: Apache-2.0
// From what happened on the watched CPUs to what each task lost: interruptions while it had a CPU, and waits for one.
// Pure: no clock, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "account/entry_costs.h"
#include "account/task_lives.h"
#include "account/task_run.h"
#include "model/types.h"

namespace noised::account {

// What happened on one CPU lately, so that a task that waited for it can be told who had it. Pure: no clock, no I/O.

/// Intervals in the order in which they ended; those since the last close() belong to the task that has the CPU.
class Timeline {
 public:
  /// Holds the newest `capacity` intervals of the past, and twice as many for a moment.
  explicit Timeline(std::size_t capacity) : capacity_(capacity) {}

  /// Adds the interval that ended next.
  void add(const Interval& interval) { held_.push_back(interval); }
  /// Those added since the last close(); valid until the next call.
  [[nodiscard]] std::span<const Interval> open() const { return std::span(held_).subspan(open_); }
  /// The first `count` of open() become the past.
  void close(std::size_t count);
  /// The intervals of the past that touch the time from `from_ns` to `to_ns`, into `out`; false if others may have,
  /// and were forgotten. Nothing lasts beyond the end of a task's run there (the programs split it).
  bool touching(std::uint64_t from_ns, std::uint64_t to_ns, std::vector<Interval>& out) const;

 private:
  std::size_t capacity_;
  std::vector<Interval> held_;
  std::size_t open_ = 0;            // held_[open_...] are open
  std::uint64_t forgotten_ns_ = 0;  // the latest end of those forgotten
};

// Interruptions of a task: intervals that follow each other without a return to it make one. Pure: no clock, no I/O.

/// Intervals at most this far apart are one interruption: what is in between is the way from one to the other. So are
/// interrupts and softirqs in less time than a return to the task takes.
inline constexpr std::uint64_t kJoinNs = 300;

/// The part of a run whose interruptions are asked for.
struct RunPart {
  std::uint64_t from_ns = 0;            ///< what was before is told
  std::uint64_t until_ns = UINT64_MAX;  ///< what ends later may not be complete
  std::uint64_t end_ns = UINT64_MAX;    ///< of the run
  bool preempted = false;               ///< it ends with a switch that the task did not want
};

/// One interruption, with its intervals in order of their start; valid during the call.
using OnInterruption = std::function<void(const Detour& whole, std::span<const Interval> intervals)>;

/// Divides intervals, in any order, into interruptions and tells them in order of time, each with what it costs to
/// enter and to leave. Intervals that end after the part, and those that touch them, are left out. `scratch` is
/// overwritten. Returns how many were told.
std::size_t divide_interruptions(std::span<const Interval> intervals, const RunPart& part, const EntryCosts& costs,
                                 std::vector<Interval>& scratch, const OnInterruption& on_interruption);

class WatchSink {
 public:
  WatchSink() = default;
  WatchSink(const WatchSink&) = delete;
  WatchSink& operator=(const WatchSink&) = delete;
  virtual ~WatchSink() = default;

  /// A task lost time on this CPU; these intervals had it. They are valid during the call. What it lost before a run is
  /// told before that run is.
  virtual void lost(std::size_t cpu, const Loss& loss, std::span<const Interval> intervals) = 0;
  /// A run has ended; those of a task come in order.
  virtual void ran(std::size_t cpu, const TaskRun& run, const RunFacts& facts) = 0;
  /// This task ended where nobody watched, or was one too many to be followed: it is not told of again.
  virtual void gone(std::uint64_t /*life*/) {}
};

/// CPUs are told by their place. Of each, intervals and runs are added in the order in which they ended.
class TaskWatch {
 public:
  static constexpr std::size_t kTimeline = 32768;  ///< intervals remembered of each CPU, 1.5 MiB

  /// `sink` outlives this.
  TaskWatch(std::size_t cpus, WatchSink& sink)
      : timelines_(cpus, Timeline(kTimeline)), told_ns_(cpus), woken_(cpus), sink_(sink) {}

  /// From now on, what is lost is told with these costs. Before, they are unknown.
  void set_costs(const EntryCosts& costs) { costs_ = costs; }
  [[nodiscard]] const EntryCosts& costs() const { return costs_; }
  /// Anything that happened there, runs of kernel threads included; not those of other tasks.
  void add(std::size_t cpu, const Interval& interval);
  /// The CPU left its idle state, and this task was woken when the interval began.
  void add_idle_exit(std::size_t cpu, std::uint32_t pid, const Interval& interval);
  /// A task that is no kernel thread left the CPU. `as_interval`: for those who waited for it.
  void add(std::size_t cpu, const TaskRun& run, const Interval& as_interval);
  /// This task has the CPU since its start; nothing of its time that ended by `settled_ns` is still to come.
  void add(std::size_t cpu, const CurrentTask& current, std::uint64_t settled_ns);
  /// From now on, waits of all CPUs are told in order of time, each before its run, as they are at first; else those of
  /// a settle() CPU by CPU, and then its runs.
  void tell_in_order(bool in_order) { in_order_ = in_order; }
  /// Everything that ended by `ns`, on all CPUs, was added.
  void settle(std::uint64_t ns);

  /// Runs of which little is known because their task may have been forgotten, as one too many to be followed.
  [[nodiscard]] std::uint64_t not_followed() const { return not_followed_; }
  /// The life that has a CPU; 0: none of its runs is known yet.
  [[nodiscard]] std::uint64_t life_of(const CurrentTask& current) const { return lives_.find(current); }
  /// Tasks that are followed.
  [[nodiscard]] std::size_t followed() const { return lives_.size(); }

 private:
  struct Woken {
    std::uint32_t pid = 0;
    std::uint64_t ns = 0;
  };
  struct Ended {
    std::size_t cpu;
    TaskRun run;
    std::uint64_t life;
    std::uint64_t woken_ns;  // on a CPU that was idle; 0: not known
  };
  void close_open(std::size_t cpu, const TaskRun& run, std::uint64_t life);
  std::size_t tell_interruptions(std::size_t cpu, const RunPart& part, const Loss& of);
  struct Wait {
    std::size_t run;  // that it ended with, by its place in ended_
    Loss loss;
  };
  RunFacts settle(const Ended& ended, std::size_t at);
  RunFacts facts_of(const Ended& ended, const LastRun* before);
  static void extend_wait(const Ended& ended, const LastRun* before, RunFacts& facts);
  [[nodiscard]] Loss wait_of(const Ended& ended, const RunFacts& facts, const LastRun* before) const;
  void tell_waits_by_cpu();
  void tell(Wait& wait);

  std::vector<Timeline> timelines_;
  std::vector<std::uint64_t> told_ns_;  // by CPU: interruptions are told until then
  std::vector<Woken> woken_;            // by CPU: for whom it left its idle state; until that task has run
  EntryCosts costs_;
  WatchSink& sink_;
  TaskLives lives_;
  std::vector<Ended> ended_;  // since the last settle()
  bool in_order_ = true;
  // Of one settle(): the places of ended runs in order of their ends; what is known of the run at each place; waits in
  // order of their runs' ends; and the places of those by CPU.
  std::vector<std::pair<std::uint64_t, std::size_t>> order_;
  std::vector<RunFacts> facts_;
  std::vector<Wait> waits_;
  std::vector<std::pair<std::size_t, std::size_t>> by_cpu_;
  std::vector<Interval> scratch_;
  std::uint64_t not_followed_ = 0;
};

}  // namespace noised::account
