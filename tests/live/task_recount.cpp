// SPDX-License-Identifier: Apache-2.0
// One pass over the events of all CPUs, in order of time; and for interruptions, the stack of each CPU (recount.h).
#include "task_recount.h"

#include <sys/utsname.h>

#include <algorithm>
#include <set>
#include <utility>

#include "kernel/features.h"

namespace noised::live {
namespace {

constexpr int kNoTask = -1;

// What follows the last `key` in the text, up to a blank.
std::string field(const std::string& text, const std::string& key) {
  const std::size_t found = text.rfind(key);
  if (found == std::string::npos) return {};
  const std::size_t begin = found + key.size();
  return text.substr(begin, text.find(' ', begin) - begin);
}

int number(const std::string& text, const std::string& key) {
  const std::string value = field(text, key);
  return value.empty() ? kNoTask : std::stoi(value);
}

// When the next event of the same CPU came, for each. Tasks are moved several at a time, between two others.
std::vector<std::uint64_t> followers(const std::vector<TraceEvent>& events) {
  std::vector<std::uint64_t> next(events.size());
  std::map<unsigned, std::uint64_t> last;
  for (std::size_t at = events.size(); at-- > 0;) {
    const auto [found, first] = last.try_emplace(events[at].cpu, UINT64_MAX);
    next[at] = found->second;
    if (events[at].name != "sched_migrate_task") found->second = events[at].ticks;
  }
  return next;
}

class Scheduler {
 public:
  Scheduler(int root, std::uint64_t from_ticks) : from_ticks_(from_ticks) { followed_.insert(root); }

  void take(const TraceEvent& event, std::uint64_t next) {
    Cpu& cpu = cpus_[event.cpu];
    if (event.name == "sched_switch") {
      change_task(event, cpu, next);
    } else if (event.name == "sched_waking") {
      note_waking(event, " target_cpu=", {event.ticks, next});
    } else if (event.name == "sched_wakeup") {
      wake(event, wakers_[number(event.text, " pid=")]);
    } else if (event.name == "sched_process_fork") {
      bear(event);
    } else if (event.name == "sched_wakeup_new") {
      const Between born{wakers_[number(event.text, " pid=")].ticks.least, next};
      note_waking(event, " target_cpu=", born);
      wake(event, wakers_[number(event.text, " pid=")]);
    } else if (event.name == "sched_migrate_task") {
      move(event, cpu, next);
      return;  // it comes amid a switch as well, after the clock was read
    } else if (event.name == "signal_generate") {
      if (followed_.contains(number(event.text, " pid="))) ++result_.tasks[number(event.text, " pid=")].signals;
    } else if (event.name == "sys_enter") {
      yielding_.insert(cpu.current);
    } else if (event.name == "sys_exit") {
      cpu.yield_ended = cpu.current;
      yielding_.erase(cpu.current);
    }
    if (event.name.ends_with("_entry")) ++cpu.depth;
    if (event.name.ends_with("_exit") && event.name != "sys_exit" && cpu.depth != 0) --cpu.depth;
    if (event.name != "sys_exit") cpu.yield_ended = kNoTask;
    cpu.last_ticks = event.ticks;
  }

  TaskRecount take_result() { return std::move(result_); }

 private:
  struct Cpu {
    int current = kNoTask;                     // not known before the first switch
    std::uint64_t last_ticks = 0;              // of any event
    std::uint64_t switched_ticks = 0;          // of the last switch
    std::optional<std::uint64_t> woken_ticks;  // since the last switch: a task came to its queue then, or later
    int idle_woken = kNoTask;                  // it idles, and this one was the first to be woken there
    unsigned depth = 0;                        // of interrupts and what runs in them
    int yield_ended = kNoTask;                 // whose sched_yield has just returned, if nothing happened since
  };
  struct Waking {
    Between ticks;             // the tracepoint, and the next on the waker's CPU
    bool handed_over = false;  // to another CPU, which idles,
    bool quietly = false;      // and where nobody else was woken, nor an interrupt was open
  };
  struct State {
    std::optional<RecountedRun> run;  // has the CPU
    std::uint64_t out_ticks = 0;
    std::optional<unsigned> last_cpu;
    bool blocked = false;
    RecountedWait wait;  // runnable without a CPU
  };

  void note_waking(const TraceEvent& event, const std::string& key, const Between& ticks) {
    Cpu& target = cpus_[static_cast<unsigned>(number(event.text, key))];
    const int pid = number(event.text, " pid=");
    Waking& waking = wakers_[pid];
    const bool handed_over = target.current == 0 && &target != &cpus_[event.cpu];
    waking = {ticks, handed_over, target.idle_woken == kNoTask && target.depth == 0};
    if (target.current == 0 && target.idle_woken == kNoTask) target.idle_woken = pid;
  }

  // Whoever wakes it puts it on the queue, or the CPU of the queue does when it is told to: between the two
  // tracepoints. Wakeups of a task that has the CPU are of no consequence: it has not slept yet.
  void wake(const TraceEvent& event, const Waking& waking) {
    Cpu& target = cpus_[static_cast<unsigned>(number(event.text, " target_cpu="))];
    target.woken_ticks = std::max(target.woken_ticks.value_or(0), waking.ticks.least);
    const int pid = number(event.text, " pid=");
    if (!followed_.contains(pid)) return;
    State& task = states_[pid];
    if (task.run || !task.blocked) return;
    task.blocked = false;
    task.wait = {};
    task.wait.reason = WaitReason::woken;
    task.wait.handed_over = waking.handed_over && waking.quietly;
    task.wait.handed_over_late = waking.handed_over && !waking.quietly;
    const bool from_waking = task.wait.handed_over;
    task.wait.from = {std::max(waking.ticks.least, task.out_ticks), from_waking ? waking.ticks.most : event.ticks};
    task.wait.begin_ticks = from_waking ? waking.ticks.least : event.ticks;
  }

  void bear(const TraceEvent& event) {
    const int child = number(event.text, " child_pid=");
    wakers_[child].ticks = {event.ticks, event.ticks};
    if (!followed_.contains(number(event.text.substr(0, event.text.find(" child_comm=")), " pid="))) return;
    followed_.insert(child);
    states_[child].blocked = true;  // its first wakeup is still to come
  }

  // One that sleeps is moved by who wakes it, one that waits by a CPU with less to do: that keeps interrupts out from
  // before it takes the task off one queue until it is on the other.
  void move(const TraceEvent& event, const Cpu& mover, std::uint64_t next) {
    const int pid = number(event.text, " pid=");
    Cpu& from = cpus_[static_cast<unsigned>(number(event.text, " orig_cpu="))];
    Cpu& to = cpus_[static_cast<unsigned>(number(event.text, " dest_cpu="))];
    to.woken_ticks = std::max(to.woken_ticks.value_or(0), event.ticks);
    if (from.idle_woken == pid) from.idle_woken = kNoTask;
    if (!followed_.contains(pid) || states_[pid].blocked) return note_waking(event, " dest_cpu=", {event.ticks, next});
    if (to.current == 0 && to.idle_woken == kNoTask) to.idle_woken = pid;
    State& task = states_[pid];
    if (!task.run) task.wait.moving_ticks += next - mover.last_ticks;
  }

  void change_task(const TraceEvent& event, Cpu& cpu, std::uint64_t next) {
    const int previous = number(event.text, " prev_pid=");
    const int coming = number(event.text, " next_pid=");
    const bool concerned =
        followed_.contains(previous) || followed_.contains(coming) || followed_.contains(cpu.current);
    if (event.ticks >= from_ticks_ && concerned && cpu.current != previous && cpu.current != kNoTask)
      result_.contradictions.push_back(event.text + " on a CPU of " + std::to_string(cpu.current));
    // The clock was read after the last thing that happened there, since a switch lets no interrupt in; or when the
    // last task came to the queue, or later, if that brought the switch about.
    const Between clock{std::max(cpu.woken_ticks.value_or(cpu.last_ticks), cpu.switched_ticks), event.ticks};
    if (followed_.contains(previous)) leave(previous, event, cpu, {event.ticks, next}, clock);
    if (followed_.contains(coming)) come(coming, event, {event.ticks, next}, clock);
    cpu.current = coming;
    cpu.switched_ticks = event.ticks;
    cpu.woken_ticks.reset();
    cpu.idle_woken = kNoTask;
    cpu.depth = 0;
  }

  void leave(int pid, const TraceEvent& event, const Cpu& cpu, const Between& out, const Between& clock) {
    State& task = states_[pid];
    const std::string state = field(event.text, " prev_state=");
    const bool runnable = state.starts_with('R');
    const bool yielded = state == "R" && yielding_.contains(pid);
    task.blocked = !runnable;
    task.out_ticks = out.least;
    task.last_cpu = event.cpu;
    task.wait = {};
    if (runnable) {
      task.wait.reason = yielded ? WaitReason::yielded : WaitReason::preempted;
      task.wait.may_be_yielded = state == "R" && cpu.yield_ended == pid;
      task.wait.from = clock;
      task.wait.begin_ticks = out.least;
    }
    if (!task.run) return;  // it came before the trace began
    RecountedRun run = *std::exchange(task.run, std::nullopt);
    run.out = out;
    run.runnable = runnable;
    run.yielded = yielded;
    run.ended = state.starts_with('X') || state.starts_with('Z');
    if (run.in.least >= from_ticks_) result_.tasks[pid].runs.push_back(run);
  }

  void come(int pid, const TraceEvent& event, const Between& in, const Between& clock) {
    State& task = states_[pid];
    if (event.ticks >= from_ticks_ && task.blocked) result_.contradictions.push_back(event.text + ": it was not woken");
    RecountedRun run;
    run.cpu = event.cpu;
    run.in = in;
    run.migrated = task.last_cpu && *task.last_cpu != event.cpu;
    run.wait = std::exchange(task.wait, {});
    run.wait.to = run.wait.handed_over ? in : clock;
    task.run = run;
    task.blocked = false;
  }

  std::uint64_t from_ticks_;
  std::map<unsigned, Cpu> cpus_;
  std::map<int, Waking> wakers_;  // by the pid of who was woken last, or born
  std::set<int> followed_;
  std::map<int, State> states_;
  std::set<int> yielding_;  // in sched_yield
  TaskRecount result_;
};

bool is_interruption(const Recounted& interval) {
  const std::string& source = interval.source;
  return !source.starts_with("task:") && !source.starts_with("work:") && !source.starts_with("page_fault:");
}

// When the next tracepoint follows its first. A softirq begins where interrupts are let in again, so that one which has
// waited strikes at that very tracepoint, between the two programs there: then what follows its end.
using Interval = std::vector<Recounted>::const_iterator;
std::uint64_t after_start(const std::vector<TraceEvent>& own, Interval interval, Interval end) {
  const auto following = [&](std::uint64_t ticks) {
    const auto next = std::ranges::upper_bound(own, ticks, {}, &TraceEvent::ticks);
    return next == own.end() ? UINT64_MAX : next->ticks;
  };
  const unsigned depth = interval->depth;
  std::uint64_t next = following(interval->start_ticks);
  while (++interval != end && interval->start_ticks <= next) {
    if (interval->start_ticks == next && interval->depth == depth + 1 && interval->source.starts_with("vector:"))
      next = following(interval->end_ticks);
  }
  return next;
}

// Those of one CPU go to the tasks that had it.
void add_interruptions(const std::vector<TraceEvent>& events, unsigned cpu, std::uint64_t from_ticks,
                       TaskRecount& result) {
  std::vector<TraceEvent> own;
  for (const TraceEvent& event : events) {
    if (event.cpu == cpu) own.push_back(event);
  }
  utsname system{};
  uname(&system);
  const bool callback_ends = kernel::why_callback_ends_are_needed(system.version).has_value();
  // The idle task's own time is no interval either.
  Recount recounted = recount(own, 0, 0, from_ticks, callback_ends);
  for (std::string& line : recounted.contradictions) {
    // Switches between others may be untraced (quiet_cpu.h); those of the tasks were looked at above.
    if (!line.starts_with("sched_switch:")) result.contradictions.push_back(std::move(line));
  }
  std::erase_if(recounted.intervals, [](const Recounted& each) { return !is_interruption(each); });
  std::ranges::stable_sort(recounted.intervals, {}, &Recounted::start_ticks);
  for (auto& [pid, task] : result.tasks) {
    for (const RecountedRun& run : task.runs) {
      if (run.cpu != cpu) continue;
      const auto first = std::ranges::lower_bound(recounted.intervals, run.in.least, {}, &Recounted::start_ticks);
      for (auto at = first; at != recounted.intervals.end() && at->start_ticks < run.out.least; ++at) {
        task.interruptions.emplace_back(*at, after_start(own, at, recounted.intervals.end()));
      }
    }
  }
}

}  // namespace

std::vector<std::string> recounted_task_events() {
  // Page faults are the tasks' own doing, and far too many.
  std::vector<std::string> events = recounted_events();
  std::erase_if(events, [](const std::string& event) { return event.starts_with("exceptions/"); });
  for (const char* const event :
       {"sched/sched_waking", "sched/sched_wakeup", "sched/sched_wakeup_new", "sched/sched_migrate_task",
        "sched/sched_process_fork", "signal/signal_generate", "raw_syscalls/sys_enter if id == 24",
        "raw_syscalls/sys_exit if id == 24"})  // sched_yield of x86-64
    events.emplace_back(event);
  return events;
}

TaskRecount recount_tasks(const std::vector<TraceEvent>& events, int root, std::uint64_t from_ticks) {
  Scheduler scheduler(root, from_ticks);
  const std::vector<std::uint64_t> next = followers(events);
  for (std::size_t at = 0; at < events.size(); ++at) scheduler.take(events[at], next[at]);
  TaskRecount result = scheduler.take_result();
  std::set<unsigned> cpus;
  for (const auto& [pid, task] : result.tasks) {
    for (const RecountedRun& run : task.runs) cpus.insert(run.cpu);
  }
  for (const unsigned cpu : cpus) add_interruptions(events, cpu, from_ticks, result);
  for (auto& [pid, task] : result.tasks)
    std::ranges::stable_sort(task.interruptions, {}, [](const auto& each) { return each.first.start_ticks; });
  return result;
}

}  // namespace noised::live
