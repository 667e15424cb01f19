// SPDX-License-Identifier: Apache-2.0
// What other CPUs did to bring an interval about: who woke the task, who sent the interrupt. Pure: no clock, no I/O.
#pragma once

#include <noised/abi.h>
#include "model/types.h"

#include <array>
#include <cstdint>
#include <vector>

#include "base/bounded_queue.h"

namespace noised::account {

/// Number of a cause; 0: none is known.
using CauseId = std::uint32_t;

/// What is known of why an interval came about. Nothing here is guessed: what may be wrong is left out.
struct Cause {
  bool known = false;       ///< `origin` tells who woke the task, or sent the interrupt, or queued the function
  bool moved = false;       ///< `mover` tells who moved the task to this CPU
  bool here = false;        ///< this CPU woke the task; what ran here just before tells more
  std::uint32_t sends = 0;  ///< interrupts sent that this one answers (several may become one); origin is the first
  noised_origin origin{};
  noised_origin mover{};
};

/// Origins that were given up because too many waited, by what they tell.
struct DroppedOrigins {
  std::uint64_t tasks = 0;       ///< who woke or moved one
  std::uint64_t interrupts = 0;  ///< who sent one
  std::uint64_t functions = 0;   ///< who queued one
  DroppedOrigins& operator+=(const DroppedOrigins& other) {
    tasks += other.tasks;
    interrupts += other.interrupts;
    functions += other.functions;
    return *this;
  }
};

/// Matches the origins that touch one CPU with its intervals. Memory is bounded; what does not fit is not known.
class CauseMatcher {
 public:
  static constexpr std::size_t kCauses = 4096;   ///< remembered at a time, 0.6 MB
  static constexpr std::size_t kTasks = 2048;    ///< slots by pid; of two pids in one slot the later is known
  static constexpr std::size_t kWaiting = 4096;  ///< origins that wait for their interval, in each queue
  /// An interrupt that did not come for so long had another way: a polling idle task reads its queue without one.
  static constexpr std::uint64_t kPatienceNs = 1'000'000'000;
  /// So long may a function have been told and not be in the queue yet: our own program takes 2,000 ns in between.
  static constexpr std::uint64_t kQueueingNs = 10'000;

  CauseMatcher();
  CauseMatcher(const CauseMatcher&) = delete;
  /// All of its memory is there from the start, so one may become like another; no container can copy it by itself.
  CauseMatcher& operator=(const CauseMatcher&) = default;

  /// Adds an origin whose targets include this CPU. Those of one causing CPU come in order of time. Where too many of
  /// its kind wait, no interval that they may be of is given a cause; other kinds are.
  void add(const noised_origin& origin);
  /// The cause of the interval that ended next; every origin older than it was added.
  CauseId cause_of(const Interval& interval);
  /// Every interval that ended by `ns` was given to cause_of(), and every origin as old was added: none waits for ever.
  void settle(std::uint64_t ns);
  /// The cause with this number, or null if it was none, or is remembered no more.
  [[nodiscard]] const Cause* find(CauseId id) const;
  /// Something was lost until `ns`, or this CPU was not observed: nothing older, nothing added or seen so far may
  /// explain what comes. Intervals that may miss their cause are not to be given to cause_of(): it would take what it
  /// does not see for what did not happen.
  void forget(std::uint64_t ns);
  /// This CPU was not observed until `ns`, but everything since was: what was sent, or woke a task, until then may have
  /// been answered unseen. To be called before the first interval that ended later is given to cause_of().
  void unobserved_until(std::uint64_t ns);
  /// Since the start.
  [[nodiscard]] const DroppedOrigins& dropped() const { return dropped_; }

 private:
  struct Task {
    std::uint32_t pid = 0;
    std::uint32_t generation = 0;  // another one than the matcher's: this was forgotten
    bool ran = false;              // an interval of it was seen here, the last thing known of it is that
    bool preempted = false;        // at that interval's end it wanted to run on: no wakeup brought it back
    bool woken = false;            // by `waker`, since
    bool moved = false;            // here, by `mover`, since
    bool away = false;             // moved elsewhere since; how it came back was not seen
    CauseId last = 0;              // of that interval
    noised_origin waker{};
    noised_origin mover{};
  };
  using Queue = BoundedQueue<noised_origin>;

  static unsigned place_of(unsigned origin_kind) { return origin_kind < NOISED_ORIGIN_RESCHEDULE ? 0 : origin_kind; }
  Queue& queue_of(unsigned origin_kind) { return queues_[place_of(origin_kind)]; }
  void make_room(unsigned origin_kind);
  Task& task(std::uint32_t pid);
  [[nodiscard]] Task fresh(std::uint32_t pid) const;
  void forget_tasks();
  void apply_until(std::uint64_t ns);
  void apply(const noised_origin& origin);
  CauseId of_task(const Interval& interval);
  CauseId of_vector(const Interval& interval);
  CauseId of_function(const Interval& interval);
  void drop_answered(std::uint64_t interrupt_ns);
  CauseId remember(const Cause& cause);

  std::uint64_t forgotten_ns_ = 0;
  std::vector<Cause> causes_;
  CauseId newest_ = 0;
  std::vector<Task> tasks_;
  std::uint32_t generation_ = 1;  // forgetting is one addition: where tasks are watched, it comes with every idling
  std::vector<Queue> queues_;     // by kind of origin; those of tasks are all in the first
  std::array<std::uint64_t, NOISED_ORIGIN_COUNT> dropped_until_ns_{};  // by queue, too: nothing older is known
  std::array<bool, NOISED_ORIGIN_COUNT> first_dropped_{};  // the next interrupt answers sends that were given up
  DroppedOrigins dropped_;
  std::array<noised_origin, NOISED_ORIGIN_COUNT> spare_{};  // the last of several sends that one interrupt answered
  std::array<bool, NOISED_ORIGIN_COUNT> has_spare_{};
};

}  // namespace noised::account
