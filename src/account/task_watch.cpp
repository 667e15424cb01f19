// SPDX-License-Identifier: Apache-2.0
// Interruptions are told as soon as their CPU's events are there; waits once the runs of all CPUs are in order, because
// a task runs now here, now there.
#include "watch/task_watch.h"

#include <algorithm>

namespace noised {
namespace {

// The kernel's count decides: a task that was woken while it was on its way to sleep looked runnable. Of several
// switches, one tells only how it looked.
bool last_was_involuntary(const TaskRun& run, const RunFacts& facts) {
  return facts.voluntary + facts.involuntary == 1 ? facts.involuntary == 1 : run.preempted;
}

// Only its end was seen; what happened before may be another task's.
bool began_unseen(const TaskRun& run) { return run.start_ns == run.end_ns; }

}  // namespace

void TaskWatch::add(std::size_t cpu, const Interval& interval) {
  Timeline& timeline = timelines_[cpu];
  timeline.add(interval);
  // A kernel thread left the CPU: what happened while it had it is nobody's interruption.
  if (interval.kind == Kind::task) timeline.close(timeline.open().size());
}

std::size_t TaskWatch::tell_interruptions(std::size_t cpu, const Stretch& stretch, const Loss& of) {
  Stretch rest = stretch;
  rest.from_ns = std::max(stretch.from_ns, told_ns_[cpu]);
  return divide_interruptions(timelines_[cpu].open(), rest, costs_, scratch_,
                              [&](const Detour& whole, std::span<const Interval> intervals) {
                                Loss loss = of;
                                loss.detour = whole;
                                told_ns_[cpu] = whole.end_ns;
                                sink_.lost(cpu, loss, intervals);
                              });
}

void TaskWatch::close_open(std::size_t cpu, const TaskRun& run) {
  if (!began_unseen(run))
    tell_interruptions(cpu, {run.start_ns, UINT64_MAX, run.end_ns, run.preempted},
                       {{}, run.pid, run.name, run.group, LossKind::interrupted, 0});
  timelines_[cpu].close(timelines_[cpu].open().size());
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
  const std::size_t told = tell_interruptions(cpu, {current.start_ns, settled_ns, UINT64_MAX, false},
                                              {{}, current.pid, current.name, current.group, LossKind::interrupted, 0});
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
    if (before->involuntary && !began_unseen(ended.run))
      facts.waited_ns = ended.run.start_ns - std::min(ended.run.start_ns, before->end_ns);
    return facts;
  }
  facts.involuntary = now.involuntary - then.involuntary;
  facts.voluntary = now.voluntary - then.voluntary;
  const std::uint64_t waited_ns = now.wait_ns - std::min(now.wait_ns, then.wait_ns);
  // The kernel counts no run of a task that was woken before it was off the queue (1 of 38,000, 64 tasks at a barrier).
  const std::uint32_t counted = now.runs - then.runs;
  facts.unseen_runs = counted == 0 ? 0 : counted - 1;
  // Of the waits before several runs only their sum is known, and of one that began unseen not when it ended.
  const bool known_when = facts.unseen_runs == 0 && !began_unseen(ended.run);
  (known_when ? facts.waited_ns : facts.unseen_wait_ns) = waited_ns;
  return facts;
}

// Where the kernel preempts, its wait begins with the wakeup that did it, inside an interrupt: by our clock it begins
// with the switch, and no time is told twice.
void TaskWatch::tell_wait(const Ended& ended, const RunFacts& facts, const Task* before) {
  const TaskRun& run = ended.run;
  const bool here = facts.wait == LossKind::preempted && !facts.migrated && before != nullptr;
  const std::uint64_t start_ns = here ? std::min(before->end_ns, run.start_ns) : run.start_ns - facts.waited_ns;
  const std::uint64_t way_back_ns =
      facts.wait == LossKind::preempted ? std::min(costs_.switched_in_ns, run.end_ns - run.start_ns) : 0;
  Loss loss{{start_ns, run.start_ns + way_back_ns, false}, run.pid, run.name, run.group, facts.wait, facts.waited_ns};
  const bool complete = timelines_[ended.cpu].touching(start_ns, run.start_ns, scratch_);
  // Who had the CPU where it waited first, and until when it waited there, is not known.
  loss.detour.in_doubt = !complete || (facts.migrated && facts.wait == LossKind::preempted);
  // The kernel's clock of switches and ours differ by a hair: the end of its own last run is not what it waited for.
  std::erase_if(scratch_, [&](const Interval& each) { return each.kind == Kind::task && each.id == run.pid; });
  sink_.lost(ended.cpu, loss, scratch_);
}

void TaskWatch::settle(const Ended& ended) {
  const auto found = tasks_.find(ended.run.pid);
  const Task* const before = found == tasks_.end() ? nullptr : &found->second;
  RunFacts facts = facts_of(ended, before);
  facts.waited_ns = std::min(facts.waited_ns, ended.run.start_ns);
  if (facts.waited_ns != 0) tell_wait(ended, facts, before);
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
