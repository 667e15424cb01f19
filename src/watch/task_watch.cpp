// SPDX-License-Identifier: Apache-2.0
// Interruptions are told as soon as their CPU's events are there; waits once the runs of all CPUs are in order, because
// a task runs now here, now there.
#include "watch/task_watch.h"

#include <algorithm>

#include "watch/stretches.h"

namespace noised {
namespace {

// The kernel's count decides: a task that was woken while it was on its way to sleep looked runnable. Of several
// switches, one tells only how it looked.
bool last_was_involuntary(const TaskRun& run, const RunFacts& facts) {
  return facts.voluntary + facts.involuntary == 1 ? facts.involuntary == 1 : run.preempted;
}

}  // namespace

void TaskWatch::add(std::size_t cpu, const Interval& interval) {
  Timeline& timeline = timelines_[cpu];
  timeline.add(interval);
  // A kernel thread left the CPU: what happened while it had it is nobody's interruption.
  if (interval.kind == Kind::task) timeline.close(timeline.open().size());
}

void TaskWatch::close_open(std::size_t cpu, const TaskRun& run) {
  Timeline& timeline = timelines_[cpu];
  divide_interruptions(timeline.open(), UINT64_MAX, scratch_,
                       [&](const Detour& whole, std::span<const Interval> intervals) {
                         sink_.lost(cpu, {whole, run.pid, run.name, run.group, LossKind::interrupted}, intervals);
                       });
  timeline.close(timeline.open().size());
}

void TaskWatch::add(std::size_t cpu, const TaskRun& run, const Interval& as_interval) {
  close_open(cpu, run);
  timelines_[cpu].add(as_interval);
  timelines_[cpu].close(1);
  ended_.push_back({cpu, run});
}

// What began before the current task did belongs to a run whose record is still to come.
void TaskWatch::add(std::size_t cpu, const CurrentTask& current, std::uint64_t settled_ns) {
  Timeline& timeline = timelines_[cpu];
  const auto open = timeline.open();
  if (open.empty() || open.front().start_ns < current.start_ns) return;
  const std::size_t told =
      divide_interruptions(open, settled_ns, scratch_, [&](const Detour& whole, std::span<const Interval> intervals) {
        sink_.lost(cpu, {whole, current.pid, current.name, current.group, LossKind::interrupted}, intervals);
      });
  timeline.close(told);
}

void TaskWatch::settle(std::uint64_t ns) {
  const auto later = std::partition(ended_.begin(), ended_.end(), [&](const Ended& e) { return e.run.end_ns <= ns; });
  std::sort(ended_.begin(), later, [](const Ended& a, const Ended& b) { return a.run.end_ns < b.run.end_ns; });
  std::for_each(ended_.begin(), later, [&](const Ended& ended) { settle(ended); });
  ended_.erase(ended_.begin(), later);
}

RunFacts TaskWatch::facts_of(const Ended& ended, const Task* before) {
  const TaskCounts& now = ended.run.counts;
  RunFacts facts;
  facts.involuntary = ended.run.preempted ? 1 : 0;
  facts.voluntary = 1 - facts.involuntary;
  if (before == nullptr) {
    facts.known = now.runs == 1;  // just born: everything that is counted was counted in this run
    if (!facts.known) return facts;
    static constexpr Task kUnborn;
    before = &kUnborn;
  } else {
    facts.known = true;
    facts.migrated = before->cpu != ended.cpu;
  }
  const TaskCounts& then = before->counts;
  facts.minor_faults = now.minor_faults - then.minor_faults;
  facts.major_faults = now.major_faults - then.major_faults;
  facts.wait = before->involuntary ? LossKind::preempted : LossKind::queued;
  if (now.runs == 0) {  // the kernel counts no waits: those that began with a switch can still be told
    if (before->involuntary) facts.waited_ns = ended.run.start_ns - std::min(ended.run.start_ns, before->end_ns);
    return facts;
  }
  facts.involuntary = now.involuntary - then.involuntary;
  facts.voluntary = now.voluntary - then.voluntary;
  const std::uint64_t waited_ns = now.wait_ns - std::min(now.wait_ns, then.wait_ns);
  facts.unseen_runs = now.runs - then.runs - 1;
  // Of the waits before several runs only their sum is known.
  (facts.unseen_runs == 0 ? facts.waited_ns : facts.unseen_wait_ns) = waited_ns;
  return facts;
}

void TaskWatch::tell_wait(const Ended& ended, const RunFacts& facts) {
  const TaskRun& run = ended.run;
  Loss loss{{run.start_ns - facts.waited_ns, run.start_ns, false}, run.pid, run.name, run.group, facts.wait};
  const bool complete = timelines_[ended.cpu].touching(loss.detour.start_ns, loss.detour.end_ns, scratch_);
  // Who had the CPU where it waited first, and until when it waited there, is not known.
  loss.detour.in_doubt = !complete || (facts.migrated && facts.wait == LossKind::preempted);
  // The kernel's clock of switches and ours differ by a hair: the end of its own last run is not what it waited for.
  std::erase_if(scratch_, [&](const Interval& each) { return each.kind == Kind::task && each.id == run.pid; });
  sink_.lost(ended.cpu, loss, scratch_);
}

void TaskWatch::settle(const Ended& ended) {
  const auto found = tasks_.find(ended.run.pid);
  RunFacts facts = facts_of(ended, found == tasks_.end() ? nullptr : &found->second);
  facts.waited_ns = std::min(facts.waited_ns, ended.run.start_ns);
  if (facts.waited_ns != 0) tell_wait(ended, facts);
  sink_.ran(ended.cpu, ended.run, facts);
  if (ended.run.ended) {
    if (found != tasks_.end()) tasks_.erase(found);
    return;
  }
  const Task task{ended.run.counts, ended.run.end_ns, ended.cpu, last_was_involuntary(ended.run, facts)};
  if (found != tasks_.end()) {
    found->second = task;
  } else if (tasks_.size() < kTasks) {
    tasks_.emplace(ended.run.pid, task);
  } else {
    ++not_followed_;
  }
}

}  // namespace noised
