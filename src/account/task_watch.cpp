// SPDX-License-Identifier: Apache-2.0
// Interruptions are told as soon as their CPU's events are there; waits once the runs of all CPUs are in order, because
// a task runs now here, now there.
#include "account/task_watch.h"

#include <algorithm>

namespace noised::account {

void Timeline::close(std::size_t count) {
  open_ += std::min(count, held_.size() - open_);
  if (open_ < 2 * capacity_) return;
  const std::size_t drop = open_ - capacity_;
  for (std::size_t at = 0; at < drop; ++at) forgotten_ns_ = std::max(forgotten_ns_, held_[at].end_ns);
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(drop));
  open_ = capacity_;
}

bool Timeline::touching(std::uint64_t from_ns, std::uint64_t to_ns, std::vector<Interval>& out) const {
  out.clear();
  const auto end = held_.begin() + static_cast<std::ptrdiff_t>(open_);
  auto at = std::upper_bound(held_.begin(), end, from_ns,
                             [](std::uint64_t ns, const Interval& interval) { return ns < interval.end_ns; });
  for (; at != end; ++at) {
    if (at->start_ns < to_ns) out.push_back(*at);
    if (at->kind == Kind::task && at->end_ns >= to_ns) break;
  }
  return from_ns >= forgotten_ns_;
}

namespace {

// What follows an interrupt on its way out, and may not be the task's own doing as a page fault is.
bool may_follow(Kind kind) { return kind == Kind::vector || kind == Kind::irq || kind == Kind::softirq; }

// A function that another CPU asked for comes with an interrupt; without one, the task calls it on its own CPU too.
bool is_own_call(std::span<const Interval> intervals) {
  return std::ranges::all_of(intervals, [](const Interval& each) { return each.kind == Kind::csd; });
}

// The ways in and out are in no interval, and in no other interruption.
Detour with_costs(const Interval& first, std::uint64_t end_ns, std::uint64_t from_ns, std::uint64_t to_ns,
                  const EntryCosts& costs) {
  const EntryCost cost = costs.of(first);
  const std::uint64_t room_before_ns = first.start_ns - std::min(from_ns, first.start_ns);
  const std::uint64_t room_after_ns = std::max(to_ns, end_ns) - end_ns;
  return {first.start_ns - std::min(cost.before_ns, room_before_ns), end_ns + std::min(cost.after_ns, room_after_ns),
          false};
}

}  // namespace

std::size_t divide_interruptions(std::span<const Interval> intervals, const RunPart& part, const EntryCosts& costs,
                                 std::vector<Interval>& scratch, const OnInterruption& on_interruption) {
  scratch.assign(intervals.begin(), intervals.end());
  // They are nearly in that order: one goes before those inside of it.
  for (auto at = scratch.begin(); at != scratch.end(); ++at)
    std::rotate(std::ranges::upper_bound(scratch.begin(), at, at->start_ns, {}, &Interval::start_ns), at, at + 1);
  const std::uint64_t join_ns = std::max(kJoinNs, costs.shortest_return_ns());
  std::uint64_t from_ns = part.from_ns;
  std::size_t told = 0;
  for (std::size_t first = 0; first < scratch.size();) {
    std::uint64_t end_ns = scratch[first].end_ns;
    std::size_t last = first + 1;
    const auto touches = [&](const Interval& next) {
      return next.start_ns <= end_ns + (may_follow(next.kind) ? join_ns : kJoinNs);
    };
    for (; last < scratch.size() && touches(scratch[last]); ++last) end_ns = std::max(end_ns, scratch[last].end_ns);
    if (end_ns > part.until_ns) break;
    const std::span<const Interval> one = std::span(scratch).subspan(first, last - first);
    const bool is_last = last == scratch.size();
    Detour whole = with_costs(scratch[first], end_ns, from_ns, is_last ? part.end_ns : scratch[last].start_ns, costs);
    // It brought the switch about: the task did not run in between.
    if (is_last && part.preempted && end_ns + costs.switched_out_ns >= part.end_ns)
      whole.end_ns = std::max(end_ns, part.end_ns);
    if (!is_own_call(one)) {
      on_interruption(whole, one);
      from_ns = whole.end_ns;
    }
    told += last - first;
    first = last;
  }
  return told;
}

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
  // A kernel thread left the CPU, or nobody had it: what happened meanwhile is nobody's interruption.
  if (interval.kind == Kind::task || is_of_idle(interval)) timeline.close(timeline.open().size());
}

void TaskWatch::add_idle_exit(std::size_t cpu, std::uint32_t pid, const Interval& interval) {
  add(cpu, interval);
  woken_[cpu] = {pid, interval.start_ns};
}

std::size_t TaskWatch::tell_interruptions(std::size_t cpu, const RunPart& part, const Loss& of) {
  RunPart rest = part;
  rest.from_ns = std::max(part.from_ns, told_ns_[cpu]);
  return divide_interruptions(timelines_[cpu].open(), rest, costs_, scratch_,
                              [&](const Detour& whole, std::span<const Interval> intervals) {
                                Loss loss = of;
                                loss.detour = whole;
                                loss.untold = costs_.untold(intervals, whole);
                                told_ns_[cpu] = whole.end_ns;
                                sink_.lost(cpu, loss, intervals);
                              });
}

void TaskWatch::close_open(std::size_t cpu, const TaskRun& run, std::uint64_t life) {
  if (!began_unseen(run))
    tell_interruptions(cpu, {run.start_ns, UINT64_MAX, run.end_ns, run.preempted && !run.yielded},
                       {{}, run.pid, run.name, run.group, LossKind::interrupted, 0, life});
  timelines_[cpu].close(timelines_[cpu].open().size());
}

void TaskWatch::add(std::size_t cpu, const TaskRun& run, const Interval& as_interval) {
  const std::uint64_t life = lives_.number_of(run);
  close_open(cpu, run, life);
  timelines_[cpu].add(as_interval);
  timelines_[cpu].close(1);
  const bool woken = woken_[cpu].pid == run.pid;
  ended_.push_back({cpu, run, life, woken ? woken_[cpu].ns : 0});
  if (woken) woken_[cpu] = {};
}

// What began before the current task did belongs to a run whose record is still to come.
void TaskWatch::add(std::size_t cpu, const CurrentTask& current, std::uint64_t settled_ns) {
  Timeline& timeline = timelines_[cpu];
  const auto open = timeline.open();
  if (open.empty() || open.front().start_ns < current.start_ns) return;
  const std::size_t told = tell_interruptions(
      cpu, {current.start_ns, settled_ns, UINT64_MAX, false},
      {{}, current.pid, current.name, current.group, LossKind::interrupted, 0, lives_.number_of(current)});
  timeline.close(told);
}

void TaskWatch::settle(std::uint64_t ns) {
  const auto later = std::partition(ended_.begin(), ended_.end(), [&](const Ended& e) { return e.run.end_ns <= ns; });
  order_.clear();
  for (auto at = ended_.begin(); at != later; ++at) order_.emplace_back(at->run.end_ns, order_.size());
  std::ranges::sort(order_);
  waits_.clear();
  facts_.resize(order_.size());
  for (const auto& [end_ns, at] : order_) facts_[at] = settle(ended_[at], at);
  if (!in_order_) tell_waits_by_cpu();
  auto wait = waits_.begin();
  for (const auto& [end_ns, at] : order_) {
    if (in_order_ && wait != waits_.end() && wait->run == at) tell(*wait++);
    sink_.ran(ended_[at].cpu, ended_[at].run, facts_[at]);
  }
  ended_.erase(ended_.begin(), later);
  lives_.settle(ns);
  for (const std::uint64_t life : lives_.gone()) sink_.gone(life);
  lives_.gone().clear();
}

namespace {

// Modulo 2^32: what is half of that behind has not wrapped.
bool fell(std::uint32_t now, std::uint32_t then) { return now - then > INT32_MAX; }

// No kernel's counts of one task do: these are two tasks that were taken for one.
bool fell(const TaskCounts& now, const TaskCounts& then) {
  return fell(now.runs, then.runs) || fell(now.voluntary, then.voluntary) || fell(now.involuntary, then.involuntary) ||
         fell(now.minor_faults, then.minor_faults) || fell(now.major_faults, then.major_faults) ||
         now.wait_ns < then.wait_ns;
}

}  // namespace

RunFacts TaskWatch::facts_of(const Ended& ended, const LastRun* before) {
  const TaskCounts& now = ended.run.counts;
  RunFacts facts;
  facts.life = ended.life;
  facts.involuntary = ended.run.preempted ? 1 : 0;
  facts.voluntary = 1 - facts.involuntary;
  if (before == nullptr) {
    facts.known = now.runs == 1;  // just born: everything that is counted was counted in this run
    if (!facts.known) return facts;
    static constexpr LastRun kUnborn;
    before = &kUnborn;
  } else {
    facts.known = true;
    facts.migrated = before->cpu != ended.cpu;
  }
  const TaskCounts& then = before->counts;
  facts.minor_faults = now.minor_faults - then.minor_faults;
  facts.major_faults = now.major_faults - then.major_faults;
  facts.wait = before->involuntary ? LossKind::preempted : LossKind::queued;
  facts.yielded = ended.run.yielded;
  if (now.runs == 0) {  // the kernel counts no waits: those that began with a switch can still be told
    if (before->involuntary && !began_unseen(ended.run))
      (before->yielded ? facts.yielded_ns : facts.waited_ns) =
          ended.run.start_ns - std::min(ended.run.start_ns, before->end_ns);
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
  if (known_when) {
    (before->yielded ? facts.yielded_ns : facts.waited_ns) = waited_ns;
  } else {
    facts.unseen_wait_ns = waited_ns;
  }
  return facts;
}

// Where the kernel preempts, its wait begins with the wakeup that did it, inside an interrupt: by our clock it begins
// with the switch, and no time is told twice.
Loss TaskWatch::wait_of(const Ended& ended, const RunFacts& facts, const LastRun* before) const {
  const TaskRun& run = ended.run;
  const bool here = facts.wait == LossKind::preempted && !facts.migrated && before != nullptr;
  const std::uint64_t start_ns = here ? std::min(before->end_ns, run.start_ns) : run.start_ns - facts.waited_ns;
  const std::uint64_t way_back_ns =
      facts.wait == LossKind::preempted ? std::min(costs_.switched_in_ns, run.end_ns - run.start_ns) : 0;
  Loss loss{{start_ns, run.start_ns + way_back_ns, false},
            run.pid,
            run.name,
            run.group,
            facts.wait,
            facts.waited_ns,
            ended.life};
  // Who had the CPU where it waited first, and until when it waited there, is not known.
  loss.detour.in_doubt = facts.migrated && facts.wait == LossKind::preempted;
  return loss;
}

// For each CPU has some 5 MiB of its own, of which a wait touches a few dozen lines: in order of time, with 256 CPUs,
// nearly each of them came from memory (tests/bench/run wide: 1,945 ns a run, by CPU 755; with 512, 11.4 us and 1.0).
void TaskWatch::tell_waits_by_cpu() {
  by_cpu_.clear();
  for (const Wait& each : waits_) by_cpu_.emplace_back(ended_[each.run].cpu, by_cpu_.size());
  std::ranges::sort(by_cpu_);
  for (const auto& [cpu, at] : by_cpu_) tell(waits_[at]);
}

void TaskWatch::tell(Wait& wait) {
  const auto& [cpu, run, life, woken_ns] = ended_[wait.run];
  const bool complete = timelines_[cpu].touching(wait.loss.detour.start_ns, run.start_ns, scratch_);
  wait.loss.detour.in_doubt |= !complete;
  // The kernel's clock of switches and ours differ by a hair: the end of its own last run is not what it waited for.
  std::erase_if(scratch_, [&](const Interval& each) { return each.kind == Kind::task && each.id == run.pid; });
  sink_.lost(cpu, wait.loss, scratch_);
}

// A kernel that hands a wakeup to an idle CPU counts the wait from when that CPU, awake, has put the task on its queue;
// and until the switch only if its clock was read again, which it spares itself there: often it counts none.
void TaskWatch::extend_wait(const Ended& ended, const LastRun* before, RunFacts& facts) {
  const bool known_when = facts.known && facts.unseen_runs == 0 && !began_unseen(ended.run);
  if (ended.woken_ns == 0 || !known_when || facts.wait != LossKind::queued) return;
  if (before != nullptr && ended.woken_ns < before->end_ns) return;  // that wakeup led it to another CPU
  if (ended.woken_ns < ended.run.start_ns)
    facts.waited_ns = std::max(facts.waited_ns, ended.run.start_ns - ended.woken_ns);
}

RunFacts TaskWatch::settle(const Ended& ended, std::size_t at) {
  LastRun* const last = lives_.last_run(ended.run.id.slot, ended.life);
  const LastRun* const before =
      last != nullptr && last->known && !fell(ended.run.counts, last->counts) ? last : nullptr;
  RunFacts facts = facts_of(ended, before);
  facts.waited_ns = std::min(facts.waited_ns, ended.run.start_ns);
  extend_wait(ended, before, facts);
  if (facts.waited_ns != 0) waits_.push_back({at, wait_of(ended, facts, before)});
  if (!facts.known && lives_.has_forgotten()) ++not_followed_;
  if (last == nullptr) return facts;
  const bool involuntary = last_was_involuntary(ended.run, facts);
  *last = {true, ended.run.counts, ended.run.end_ns, ended.cpu, involuntary, involuntary && ended.run.yielded};
  if (ended.run.ended) lives_.end(ended.run.id.slot, ended.life);
  return facts;
}

}  // namespace noised::account
