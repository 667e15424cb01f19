// SPDX-License-Identifier: Apache-2.0
// How long a phase of work takes, wherever it begins: the grain slides over everything that was observed of a CPU.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "analysis/projection/excess.h"

namespace noised::analysis {

/// A phase that begins at t is over when its grain G of work is done: it takes D(t) = W^-1(W(t) + G) - t, where the
/// work W(t) is t less the detours until then (Tsafrir et al. 2005, section 2.4: the distribution of X_j). Its begin is
/// uniform over all observed time, also over detours: a barrier may let it go while this CPU is away, and then the rest
/// of that detour delays it. D - G is constant while neither end of the phase meets a detour, and falls by a nanosecond
/// each nanosecond while its begin lies in one, so that it is known exactly for every begin. Phases over time that was
/// not observed do not count. Which begins inside detours a job really has, barrier.h decides. Memory is that of the
/// detours within one grain, and of what was told and not taken.
class SlidingPhases {
 public:
  /// `observed_ns`: how much will be observed of this CPU in all. `taken`: somebody takes what is told.
  SlidingPhases(std::uint64_t grain_ns, std::uint64_t observed_ns, bool taken = false)
      : grain_ns_(grain_ns), taken_(taken), excess_(observed_ns) {}

  /// Observed from this time on, but not before the end of the last stretch.
  void begin(std::uint64_t first_ns);
  /// The next detour, in order of time. What of it is before the begin, or the end of another, does not count.
  void detour(std::uint64_t start_ns, std::uint64_t end_ns);
  /// Observed until this time, or the end of the last detour, and not after it.
  void end(std::uint64_t last_ns);

  [[nodiscard]] const ExcessBlocks& excess() const { return excess_; }

  /// The next in order of time, without a gap; false if nothing more is known yet.
  bool take(Begins& next);
  [[nodiscard]] std::size_t waiting() const { return told_.size(); }
  /// Nobody takes any more.
  void forget();

 private:
  struct Delay {
    std::uint64_t work_ns;  // done until it, from the begin
    std::uint64_t length_ns;
  };
  void observe(std::uint64_t until_ns);  // no detour starts before
  void slide(std::uint64_t work_ns);
  void tell(const Begins& begins);

  std::uint64_t grain_ns_;
  bool taken_;
  bool observed_ = false;
  std::uint64_t first_ns_ = 0;
  std::uint64_t free_ns_ = 0;        // no detour starts before it any more
  std::uint64_t noise_ns_ = 0;       // since first_ns_
  std::uint64_t start_work_ns_ = 0;  // work done until the begin of the phase that slides
  std::uint64_t within_ns_ = 0;      // sum of delays_: the excess of that phase
  std::deque<Delay> delays_;         // that lie in it
  std::uint64_t told_ns_ = 0;        // its begin: all before it was told
  std::deque<Begins> told_;          // and not taken
  ExcessBlocks excess_;
};

}  // namespace noised::analysis
