// SPDX-License-Identifier: Apache-2.0
// The phases of one CPU, as they are and as they would be without each of some sources. Pure: no clock, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "account/attributor.h"
#include "analysis/projection/excess.h"
#include "analysis/projection/removal.h"

namespace noised::analysis {

// How long a phase of work takes, wherever it begins: the grain slides over everything that was observed. Pure.

/// The excess of the phases of one CPU, in blocks of equal length of the time that was observed of it: what differs
/// between blocks tells how much the whole can be relied upon.
class ExcessBlocks {
 public:
  static constexpr std::size_t kBlocks = 24;

  /// `observed_ns`: how much there will be of all; what is beyond it belongs to the last block.
  explicit ExcessBlocks(std::uint64_t observed_ns) : length_ns_(observed_ns / kBlocks + 1), blocks_(kBlocks) {}

  /// What is added next began when so much had been observed.
  void seek(std::uint64_t position_ns);
  void add_level(std::uint64_t excess_ns, std::uint64_t weight_ns);
  /// Falling, from its high to its low end.
  void add_ramp(std::uint64_t low_ns, std::uint64_t high_ns);

  [[nodiscard]] const std::vector<Excess>& blocks() const { return blocks_; }
  /// The time in which phases began.
  [[nodiscard]] std::uint64_t starts_ns() const { return starts_ns_; }

 private:
  [[nodiscard]] std::uint64_t left_ns() const {
    return block_ + 1 < kBlocks ? block_end_ns_ - position_ns_ : UINT64_MAX;
  }
  void advance(std::uint64_t by_ns);

  std::uint64_t length_ns_;
  std::uint64_t position_ns_ = 0;
  std::size_t block_ = 0;
  std::uint64_t block_end_ns_ = length_ns_;
  std::uint64_t starts_ns_ = 0;
  std::vector<Excess> blocks_;
};

/// A phase that begins at t is over when its grain G of work is done: it takes D(t) = W^-1(W(t) + G) - t, where the
/// work W(t) is t less the detours until then (Tsafrir et al. 2005, section 2.4: the distribution of X_j). Its begin is
/// uniform over all observed time, also over detours: a barrier may let it go while this CPU is away, and then the rest
/// of that detour delays it. D - G is constant while neither end of the phase meets a detour, and falls by a nanosecond
/// each nanosecond while its begin lies in one, so that it is known exactly for every begin. Phases over time that was
/// not observed do not count. Which begins inside detours a job really has, barrier.h decides. Memory is that of the
/// detours within one grain.
class SlidingPhases {
 public:
  /// `excess` must outlive this.
  SlidingPhases(std::uint64_t grain_ns, ExcessBlocks& excess) : grain_ns_(grain_ns), excess_(excess) {}

  /// Observed from this time on; nothing before it is known.
  void begin(std::uint64_t first_ns);
  /// The next detour, in order of time. What of it is before the begin, or the end of another, does not count.
  void detour(std::uint64_t start_ns, std::uint64_t end_ns);
  /// Observed until this time, and not after it.
  void end(std::uint64_t last_ns);

 private:
  struct Delay {
    std::uint64_t work_ns;  // done until it, from the begin
    std::uint64_t length_ns;
  };
  void advance(std::uint64_t work_ns);

  std::uint64_t grain_ns_;
  ExcessBlocks& excess_;
  std::uint64_t observed_before_ns_ = 0;  // in stretches that have ended
  std::uint64_t first_ns_ = 0;
  std::uint64_t detours_end_ns_ = 0;
  std::uint64_t noise_ns_ = 0;       // since first_ns_
  std::uint64_t start_work_ns_ = 0;  // work done until the begin of the phase that slides
  std::uint64_t within_ns_ = 0;      // sum of delays_: the excess of that phase
  std::deque<Delay> delays_;         // that lie in it
};

class CpuPhases {
 public:
  /// `observed_ns`: how much will be observed of this CPU in all. Sources are numbered as in `sources`.
  CpuPhases(std::uint64_t grain_ns, std::uint64_t observed_ns, std::span<const RemovableSource> sources);

  void begin(std::uint64_t first_ns);
  void add(const account::DetourLedger& ledger);
  void end(std::uint64_t last_ns);

  [[nodiscard]] const ExcessBlocks& whole() const { return sliders_.front()->excess; }
  /// Every detour shorter by what Removal says, and otherwise where it was.
  [[nodiscard]] const ExcessBlocks& without(std::size_t source) const { return sliders_[source + 1]->excess; }

 private:
  struct Slider {
    Slider(std::uint64_t grain_ns, std::uint64_t observed_ns) : excess(observed_ns), phases(grain_ns, excess) {}
    ExcessBlocks excess;
    SlidingPhases phases;
  };
  void find_gone(const account::DetourLedger& ledger, std::uint64_t* gone_ns);
  void slide();

  std::vector<Kind> kinds_;           // by number
  std::vector<std::size_t> numbers_;  // by source; SIZE_MAX: none of ours
  // Detours wait until there are so many: then one slider after the other takes them, each from near caches.
  static constexpr std::size_t kWaiting = 256;
  std::vector<Detour> waiting_;
  std::vector<std::uint64_t> gone_ns_;  // by detour waiting, then number
  Removal removal_;
  std::vector<std::unique_ptr<Slider>> sliders_;  // the whole, then by number
};

}  // namespace noised::analysis
