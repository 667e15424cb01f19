// SPDX-License-Identifier: Apache-2.0
// The measuring thread of one CPU.
#pragma once

#include <noised/abi.h>
#include <noised/result.h>

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>

#include "probe/detour_loop.h"
#include "probe/smi_counter.h"

namespace noised {

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
  bool inherits = false;      ///< the creating thread has that policy and priority: no right is needed to hand them on
  std::size_t ring_capacity = 1U << 16U;
};

/// Owns the thread, its ring and its progress. Memory is touched, and the loop warmed up, before watching begins.
class Probe {
 public:
  /// Creates the thread on its CPU; it waits there, blocked, until begin(). `state` tells the BPF programs when to
  /// record, and outlives the probe. `smi` is the CPU's: opening it may take privileges that are gone by now.
  static Result<std::unique_ptr<Probe>> create(const ProbeOptions& options, noised_cpu& state, SmiCounter smi);
  /// Stops and joins.
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  /// Starts measuring; returns when the loop runs, or an error if the CPU is not given to the thread within 5 s.
  Status begin();
  /// Ends the loop and joins the thread: after this no record is made and progress() is final. Idempotent.
  void end();

  [[nodiscard]] unsigned cpu() const { return options_.cpu; }
  [[nodiscard]] DetourRing& ring() { return ring_; }
  [[nodiscard]] const LoopProgress& progress() const { return progress_; }
  /// True while the thread is not on its CPU, and tries to return; one relaxed load.
  [[nodiscard]] bool is_away() const { return away_.load(std::memory_order_relaxed); }
  /// How often the scheduler took the CPU from the thread since begin(), by its own count; nothing if it does not tell.
  /// Reads a file until end() was called.
  [[nodiscard]] std::optional<std::uint64_t> switches() const;
  /// False once end() was called.
  [[nodiscard]] bool is_running() const { return running_; }
  /// System management interrupts while the loop ran, after end(); nothing where they are not counted (smi_counter.h).
  [[nodiscard]] std::optional<std::uint64_t> smi_count() const { return running_ ? std::nullopt : smi_count_; }

 private:
  Probe(const ProbeOptions& options, noised_cpu& state, SmiCounter smi);
  static void* thread_main(void* self);
  void warm_up() const;
  [[nodiscard]] LoopOptions loop_options() const;
  LoopEnd watch();
  void rest();
  bool return_to_cpu();
  void measure();

  ProbeOptions options_;
  noised_cpu& state_;
  DetourRing ring_;
  LoopProgress progress_;
  std::minstd_rand random_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> away_{false};
  std::atomic<int> go_{0};  // futex
  SmiCounter smi_;
  std::atomic<std::uint64_t> switches_before_{0};  // until the loop began
  std::optional<std::uint64_t> switches_;          // the thread's until it is joined, as the next
  std::optional<std::uint64_t> smi_count_;         // the thread's until it is joined
  pthread_t thread_{};
  bool running_ = false;
};

}  // namespace noised
