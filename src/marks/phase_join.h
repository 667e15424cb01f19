// SPDX-License-Identifier: Apache-2.0
// Phases that threads marked, and the time that was taken from these threads meanwhile. Pure: no clock, no I/O.
#pragma once

#include "model/losses.h"
#include "model/watch.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "marks/phase_totals.h"

namespace noised::marks {

/// A mark in CLOCK_MONOTONIC; `phase` is PhaseJoin's.
struct TimedMark {
  std::uint64_t ns = 0;
  unsigned phase = 0;
  bool end = false;
};

/// A thread loses time in pieces during which it marks nothing, so that each lies in one place between its marks: what
/// the clocks differ by is cut off. Marks and losses of a thread come each in their order, but apart from each other; a
/// phase counts once all that it can have lost was told.
class PhaseJoin {
 public:
  static constexpr std::size_t kNames = 4096;  ///< of phases; the rest are "other"

  /// The number of the phase of this name.
  unsigned phase(const std::string& name);
  /// The marks of a thread since the last time, in order; `lost` before them were overwritten.
  void add(std::uint32_t tid, std::span<const TimedMark> marks, std::uint64_t lost);
  /// What the daemon told. All marks that could be read when it had come must have been added before.
  void add(const LossesView& losses);
  /// Nothing more will come.
  void finish();

  [[nodiscard]] const MarkLosses& losses() const { return missing_; }
  /// The phases so far, by their time, falling.
  [[nodiscard]] std::vector<MarkedPhase> view() const;

 private:
  struct Phase {
    unsigned phase = 0;
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = UINT64_MAX;  // that of an open one is not known
    bool incomplete = false;
    SourceTimes stolen;  // by losses that are forgotten already
  };
  struct Thread {
    std::uint64_t last_ns = 0;  // mark
    std::uint64_t told_ns = 0;  // the end of the last phase that was counted
    std::uint64_t run_ns = 0;   // the start of the run that was going on; the wait before it is told with its end
    std::vector<Phase> open;    // the innermost last
    std::vector<Phase> over;    // not counted yet
    std::vector<LossView> losses;
  };
  void add(Thread& thread, const TimedMark& mark);
  void add(Thread& thread, const LossView& loss);
  void settle(std::uint32_t tid, Thread& thread, std::uint64_t settled_ns, std::uint64_t run_start_ns);
  void count(std::uint32_t tid, const Thread& thread, Phase& phase);
  static void take(const LossView& loss, Phase& phase);
  static void forget_old(Thread& thread);
  static void forget_most(Thread& thread);

  std::unordered_map<std::string, unsigned> numbers_{{"other", 0}};
  std::vector<std::string> names_{"other"};
  std::vector<PhaseTotals> totals_{1};
  std::unordered_map<std::uint32_t, Thread> threads_;
  std::unordered_set<std::uint32_t> watched_;
  SourceNames sources_;
  MarkLosses missing_;
  std::uint64_t since_ns_ = 0;
};

}  // namespace noised::marks
