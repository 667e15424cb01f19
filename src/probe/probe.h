// SPDX-License-Identifier: Apache-2.0
// The measuring thread of one CPU.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>

#include <noised/abi.h>

#include "base/cpus.h"
#include "base/result.h"
#include "probe/detour_loop.h"
#include "probe/footprint.h"
#include "probe/measuring_loop.h"
#include "probe/phase_fit.h"
#include "system/smi_counter.h"

namespace noised::probe {

// How often the scheduler took the CPU from the loop, as the scheduler itself counts.

/// Involuntary context switches of a thread of this process since it was created, from outside (/proc, a file read);
/// nothing if it is gone.
std::optional<std::uint64_t> involuntary_switches(pid_t thread);
/// The same for the calling thread, by getrusage.
std::uint64_t own_involuntary_switches();

struct ProbeOptions {
  unsigned cpu = 0;
  std::uint64_t threshold_ticks = 0;  ///< as LoopOptions has them, as the next four
  std::uint64_t storing_limit_ticks = 0;
  std::uint64_t run_ticks = UINT64_MAX;  ///< between two rests
  std::uint64_t quantum_ticks = 0;
  std::uint64_t work = 0;
  std::uint64_t rest_ns = 0;  ///< on average; a rest takes 0.5 to 1.5 times as long
  bool fifo = false;          ///< SCHED_FIFO instead of SCHED_OTHER
  int priority = 1;           ///< of SCHED_FIFO
  bool steps_aside = false;   ///< for tasks, which are watched instead
  bool starts_away = false;   ///< its CPU is offline: the loop begins when it is there
  bool inherits = false;      ///< the creating thread has that policy and priority: no right is needed to hand them on
  std::size_t ring_capacity = 1U << 16U;
  PhaseOptions phases;  ///< in place of the loop, from the start
};

/// What a probe is to go over to.
struct ProbeChange {
  PhaseOptions phases;  ///< none: the loop
  bool fifo = false;
  int priority = 1;
};

enum class ChangeState : std::uint8_t {
  none,
  working,
  ready,   ///< policy and memory are there; the memory is filled, and how much work makes a phase found out
  done,    ///< it runs, or will once the probe begins
  failed,  ///< all is as it was before
};

/// For noised_cpu::arrived_ns: there is no loop yet that could step aside.
inline constexpr std::uint64_t kNotThere = 1;

/// Owns the thread, its ring and its progress. Memory is touched, and the loop warmed up, before watching begins.
class Probe final : public MeasuringLoop {
 public:
  /// Creates the thread on its CPU, or where the caller runs if it starts away; it waits there, blocked, until begin().
  /// `state` tells the BPF programs when to record, and outlives the probe. `smi` is the CPU's: opening it may take
  /// privileges that are gone by now.
  static Result<std::unique_ptr<Probe>> create(const ProbeOptions& options, noised_cpu& state, system::SmiCounter smi);
  /// Stops and joins.
  ~Probe() override;

  /// Starts measuring; returns when the loop runs, unless it starts away, or an error if the CPU is not given to the
  /// thread within 5 s.
  Status begin();
  /// Ends the loop and joins the thread: after this no record is made and progress() is final. Idempotent.
  void end();

  /// Has the thread go over to something else, at the end of its batch; until it has, the CPU is not observed (a gap of
  /// kind rested). Not while it is at one: working or ready.
  void change(const ProbeChange& to);
  /// How far the last change is; `none`: there was none.
  [[nodiscard]] ChangeState change_state() const { return change_state_.load(std::memory_order_acquire); }
  /// Waits until the change is made, or has failed (then with that error): some 0.2 s for phases; an error too if the
  /// CPU is not given to the thread within 20 s.
  [[nodiscard]] Status wait_for_change() const;
  /// Why it failed.
  [[nodiscard]] const Error& change_error() const { return change_error_; }
  /// The phases that are run, once it is done; of no meaning when they are none.
  [[nodiscard]] const FittedPhases& fitted() const { return fitted_; }

  /// From any thread: has the loop leave its CPU for these at once, and wait there, unless it has stepped aside by
  /// itself. The CPU is not observed until it has come back (a gap of kind rested).
  void step_aside(const CpuSet& to);
  /// Has it come back; from one thread only.
  void come_back();
  /// True from then on, until come_back().
  [[nodiscard]] bool is_aside() const override { return aside_.load(std::memory_order_acquire) != 0; }
  /// When it began to wait, CLOCK_MONOTONIC; 0: it is still on its way, or was not asked to.
  [[nodiscard]] std::uint64_t aside_since_ns() const { return aside_since_ns_.load(std::memory_order_acquire); }

  [[nodiscard]] unsigned cpu() const override { return options_.cpu; }
  [[nodiscard]] DetourRing& ring() override { return ring_; }
  [[nodiscard]] const LoopProgress& progress() const override { return progress_; }
  [[nodiscard]] bool is_away() const override { return away_.load(std::memory_order_acquire); }
  [[nodiscard]] std::optional<std::uint64_t> switches() const override;
  [[nodiscard]] bool is_running() const override { return running_; }
  [[nodiscard]] std::optional<std::uint64_t> smi_count() const override { return running_ ? std::nullopt : smi_count_; }

 private:
  Probe(const ProbeOptions& options, noised_cpu& state, system::SmiCounter smi);
  static void* thread_main(void* self);
  void warm_up() const;
  [[nodiscard]] LoopOptions loop_options() const;
  LoopEnd watch();
  void rest();
  bool return_to_cpu();
  void end_gap(GapKind next);
  bool must_step_aside();
  void wait_aside();
  [[nodiscard]] const volatile std::uint64_t* arrived() const {
    return static_cast<const volatile std::uint64_t*>(&state_.arrived_ns);
  }
  void measure();
  void change_over();
  Status prepare_change();

  ProbeOptions options_;
  noised_cpu& state_;
  DetourRing ring_;
  LoopProgress progress_;
  std::minstd_rand random_;
  std::atomic<bool> stop_{false};    // the loop looks at it: something is to be done
  std::atomic<bool> ending_{false};  // that is, the thread is to end
  std::atomic<bool> away_{false};
  bool was_away_ = false;   // the thread's: since the loop ran last
  std::atomic<int> go_{0};  // futex, as the next
  std::atomic<int> aside_{0};
  static_assert(sizeof(std::atomic<int>) == sizeof(int));
  std::atomic<std::uint64_t> aside_since_ns_{0};
  system::SmiCounter smi_;
  std::atomic<ChangeState> change_state_{ChangeState::none};
  ProbeChange change_;   // the creating thread's while it is not working
  Error change_error_;   // the thread's while it is
  FittedPhases fitted_;  // likewise, as the next
  Footprint footprint_;
  PhaseWork work_{0, nullptr};                     // no iterations: the loop
  std::uint32_t smi_unobserved_ = 0;               // in changes
  std::atomic<std::uint64_t> switches_before_{0};  // until the loop began
  std::optional<std::uint64_t> switches_;          // the thread's until it is joined, as the next
  std::optional<std::uint64_t> smi_count_;         // the thread's until it is joined
  pthread_t thread_{};
  bool running_ = false;
};

}  // namespace noised::probe
