// SPDX-License-Identifier: Apache-2.0
// Each queue is in order of time, and so are the intervals of one kind: both are walked once.
#include "account/causes.h"

#include <algorithm>
#include <utility>

namespace noised::account {
namespace {

// The kind of origin that sends this vector; NOISED_ORIGIN_COUNT: it comes from no other CPU.
unsigned sent_as(std::uint64_t vector) {
  switch (vector) {
    case NOISED_VECTOR_RESCHEDULE:
      return NOISED_ORIGIN_RESCHEDULE;
    case NOISED_VECTOR_CALL_FUNCTION:
      return NOISED_ORIGIN_CALL;
    case NOISED_VECTOR_CALL_FUNCTION_SINGLE:
      return NOISED_ORIGIN_CALL_SINGLE;
    default:
      return NOISED_ORIGIN_COUNT;
  }
}

}  // namespace

CauseMatcher::CauseMatcher() : causes_(kCauses), tasks_(kTasks) {
  for (unsigned kind = 0; kind < NOISED_ORIGIN_COUNT; ++kind) queues_.emplace_back(kWaiting);
}

void CauseMatcher::add(const noised_origin& origin) {
  if (origin.kind >= NOISED_ORIGIN_COUNT || origin.time_ns <= forgotten_ns_) return;
  Queue& queue = queue_of(origin.kind);
  if (queue.full()) make_room(origin.kind);
  if (origin.time_ns <= dropped_until_ns_[place_of(origin.kind)]) return;
  // A program reads the clock before it has its place in the ring: neighbours may be swapped.
  auto at = queue.end();
  while (at != queue.begin() && std::prev(at)->time_ns > origin.time_ns) --at;
  queue.insert(at, origin);
}

// A call has its number, so the oldest one may go alone. Of tasks and interrupts, what is left would explain what it is
// not of.
void CauseMatcher::make_room(unsigned origin_kind) {
  Queue& queue = queue_of(origin_kind);
  if (origin_kind == NOISED_ORIGIN_QUEUE) {
    ++dropped_.functions;
    queue.pop_front();
    return;
  }
  const bool of_tasks = place_of(origin_kind) == 0;
  (of_tasks ? dropped_.tasks : dropped_.interrupts) += queue.size();
  dropped_until_ns_[place_of(origin_kind)] = std::prev(queue.end())->time_ns;
  queue.clear();
  if (of_tasks) {
    forget_tasks();
  } else {
    has_spare_[origin_kind] = false;
    first_dropped_[origin_kind] = true;
  }
}

// Once in 2^32 times, none may be taken for one of the last round.
void CauseMatcher::forget_tasks() {
  if (++generation_ != 0) return;
  std::fill(tasks_.begin(), tasks_.end(), Task{});
  generation_ = 1;
}

void CauseMatcher::forget(std::uint64_t ns) {
  forgotten_ns_ = std::max(forgotten_ns_, ns);
  forget_tasks();
  for (Queue& queue : queues_) queue.clear();
  has_spare_.fill(false);
}

void CauseMatcher::unobserved_until(std::uint64_t ns) {
  forgotten_ns_ = std::max(forgotten_ns_, ns);
  forget_tasks();
  for (Queue& queue : queues_) {
    while (!queue.empty() && queue.front().time_ns <= ns) queue.pop_front();
  }
  has_spare_.fill(false);
}

void CauseMatcher::settle(std::uint64_t ns) {
  apply_until(ns);
  for (unsigned kind = NOISED_ORIGIN_RESCHEDULE; kind < NOISED_ORIGIN_COUNT; ++kind) {
    Queue& queue = queues_[kind];
    while (!queue.empty() && queue.front().time_ns + kPatienceNs < ns) queue.pop_front();
  }
}

const Cause* CauseMatcher::find(CauseId id) const {
  return id == 0 || newest_ - id >= kCauses ? nullptr : &causes_[id % kCauses];
}

CauseId CauseMatcher::remember(const Cause& cause) {
  if (++newest_ == 0) ++newest_;
  causes_[newest_ % kCauses] = cause;
  return newest_;
}

CauseMatcher::Task& CauseMatcher::task(std::uint32_t pid) {
  Task& task = tasks_[pid % kTasks];
  if (task.pid != pid || task.generation != generation_) task = fresh(pid);
  return task;
}

CauseMatcher::Task CauseMatcher::fresh(std::uint32_t pid) const {
  Task task;
  task.pid = pid;
  task.generation = generation_;
  return task;
}

void CauseMatcher::apply(const noised_origin& origin) {
  Task& touched = task(origin.task);
  if (origin.kind == NOISED_ORIGIN_WAKE) {
    // A wakeup that finds the task still on the run queue changes its mind about sleeping; it does not bring it here.
    if (touched.ran && touched.preempted) return;
    touched.woken = true;
    touched.moved = false;
    touched.waker = origin;
  } else {
    touched = fresh(origin.task);
    touched.moved = origin.kind == NOISED_ORIGIN_MOVE;
    touched.away = !touched.moved;
    touched.mover = origin;
  }
}

void CauseMatcher::apply_until(std::uint64_t ns) {
  Queue& queue = queue_of(NOISED_ORIGIN_WAKE);
  for (; !queue.empty() && queue.front().time_ns <= ns; queue.pop_front()) apply(queue.front());
}

CauseId CauseMatcher::cause_of(const Interval& interval) {
  switch (interval.kind) {
    case Kind::task:
      return of_task(interval);
    case Kind::vector:
      return of_vector(interval);
    case Kind::csd:
      return of_function(interval);
    default:
      return 0;
  }
}

// "Here" is what the wakeup itself said, not what is left when no other CPU was seen to wake the task: a CPU may run no
// program where it wakes (quiet_cpu.h in tests/live tells why).
CauseId CauseMatcher::of_task(const Interval& interval) {
  apply_until(interval.start_ns);
  if (interval.id == 0) return 0;  // the idle task runs when nobody else wants to
  if (interval.start_ns <= dropped_until_ns_[0]) return 0;
  Task& runs = task(static_cast<std::uint32_t>(interval.id));
  CauseId id = 0;
  if (runs.ran && runs.preempted) {
    id = runs.last;
  } else {
    Cause cause;
    cause.known = runs.woken;
    cause.moved = runs.moved;
    cause.here = (interval.flags & NOISED_FLAG_WOKEN_HERE) != 0 && !runs.away;
    cause.origin = runs.waker;
    cause.mover = runs.mover;
    if (cause.known || cause.moved || cause.here) id = remember(cause);
  }
  runs.ran = true;
  runs.preempted = (interval.flags & NOISED_FLAG_PREEMPTED) != 0;
  runs.woken = runs.moved = runs.away = false;
  runs.last = id;
  return id;
}

CauseId CauseMatcher::of_vector(const Interval& interval) {
  const unsigned kind = sent_as(interval.id);
  if (kind == NOISED_ORIGIN_COUNT) return 0;
  if (kind != NOISED_ORIGIN_RESCHEDULE) drop_answered(interval.start_ns);
  if (interval.start_ns <= dropped_until_ns_[kind]) return 0;
  Queue& queue = queue_of(kind);
  Cause cause;
  noised_origin last{};
  for (; !queue.empty() && queue.front().time_ns <= interval.start_ns; queue.pop_front()) {
    if (queue.front().time_ns + kPatienceNs < interval.start_ns) continue;
    if (cause.sends++ == 0) cause.origin = queue.front();
    last = queue.front();
  }
  if (cause.sends == 0 && has_spare_[kind]) {
    // Sent while the interrupt before was about to begin: one of the sends that this seemed to answer was for us.
    cause.origin = spare_[kind];
    cause.sends = 1;
    last = cause.origin;
  }
  has_spare_[kind] = cause.sends > 1;
  spare_[kind] = last;
  cause.known = cause.sends != 0 && !std::exchange(first_dropped_[kind], false);
  return cause.known ? remember(cause) : 0;
}

// One run answers one call, but wakeups: one run wakes all that were queued, and has the first one's number. So those
// that are older than one of the same number ran unseen, or with another.
CauseId CauseMatcher::of_function(const Interval& interval) {
  if (interval.call == 0) return 0;  // no other CPU queued it
  Cause cause;
  Queue& queue = queue_of(NOISED_ORIGIN_QUEUE);
  for (auto at = queue.begin(); at != queue.end() && at->time_ns <= interval.start_ns;) {
    if (at->task != interval.call || at->subject != interval.id) {
      ++at;
      continue;
    }
    cause.known = at->time_ns + kPatienceNs >= interval.start_ns;
    cause.origin = *at;
    at = queue.erase(at);
  }
  cause.sends = 1;
  return cause.known ? remember(cause) : 0;
}

// The interrupt takes the whole queue, and what it ran is known when it ends.
void CauseMatcher::drop_answered(std::uint64_t interrupt_ns) {
  Queue& queue = queue_of(NOISED_ORIGIN_QUEUE);
  while (!queue.empty() && queue.front().time_ns + kQueueingNs < interrupt_ns) queue.pop_front();
}

}  // namespace noised::account
