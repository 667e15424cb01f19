// SPDX-License-Identifier: Apache-2.0
// The phases of a node whose CPUs all begin them at the same time. Pure: no clock, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "analysis/projection/cpu_phases.h"

namespace noised::analysis {

/// A node's phase begins on all of its CPUs at the same time t and ends with that of its slowest CPU: its excess is the
/// largest D(t) - G of its CPUs (SlidingPhases), over all t at which each CPU is observed and its phase that begins
/// then is observed to its end. A product of the CPUs' distributions takes them as independent; this knows which
/// detours come at the same time and which never do. Each CPU's excess is constant, or falls by a nanosecond each
/// nanosecond while its phase begins in a detour. Of excesses that fall alike the largest stays the largest, so that
/// the node's falls until it meets the largest constant one: it is exact, too. A begin is inside of a detour, a ramp of
/// Excess, where the CPU that is the slowest begins in one.
///
/// Each CPU's calls come in order of time, those of different CPUs in any order. What is known of a CPU waits until it
/// is known of all: memory is that of the detours by which CPUs are apart, and each takes O(log CPUs) of time.
class JointPhases {
 public:
  /// 64 MiB for all CPUs: so much is known of some while nothing is known of another one.
  static constexpr std::size_t kMostWaiting = std::size_t{1} << 21U;

  /// CPUs are numbered from 0. `excess` must outlive this; its blocks are of the time in which all CPUs are observed.
  JointPhases(std::uint64_t grain_ns, std::size_t cpus, ExcessBlocks& excess, std::size_t most_waiting = kMostWaiting);

  /// The CPU is observed from this time on, but not before the end of its last stretch.
  void begin(std::size_t cpu, std::uint64_t first_ns);
  /// The CPU's next detour, in ns. What of it is before the begin, or the end of another, does not count.
  void detour(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns);
  /// The CPU is observed until this time, or the end of its last detour, and not after it.
  void end(std::size_t cpu, std::uint64_t last_ns);
  /// Ends all stretches that are still open, each where the last call left it.
  void finish();

  /// False once more waited than may: what was added until then is not all.
  [[nodiscard]] bool complete() const { return complete_; }
  /// The time so far in which all CPUs were observed.
  [[nodiscard]] std::uint64_t observed_ns() const { return observed_ns_; }

 private:
  /// What is seen of the phases that begin at some time, from the best to the worst.
  enum class Seen : std::uint8_t { whole, begun, nothing };
  /// Phases that begin from the end of those before them until `end_ns`.
  struct Begins {
    std::uint64_t end_ns = 0;
    Seen seen = Seen::nothing;
    std::uint64_t level_ns = 0;  // the excess of those outside of detours; 0: none is
    std::uint64_t done_ns = 0;   // when those inside a detour would be over without their grain; 0: none is
  };

  /// One CPU's grain slides as in SlidingPhases, but over the time of day.
  class CpuBegins {
   public:
    explicit CpuBegins(std::uint64_t grain_ns) : grain_ns_(grain_ns) {}

    void begin(std::uint64_t first_ns);
    void detour(std::uint64_t start_ns, std::uint64_t end_ns);
    void observe(std::uint64_t until_ns);  // no detour starts before
    void end(std::uint64_t last_ns);
    /// The next in order of time, without a gap; false if nothing more is known yet.
    bool take(Begins& next);
    [[nodiscard]] std::size_t waiting() const { return begins_.size(); }
    void forget() { begins_ = {}; }

   private:
    struct Delay {
      std::uint64_t work_ns;  // done until it, from the begin
      std::uint64_t length_ns;
    };
    void slide(std::uint64_t work_ns);
    void tell(const Begins& begins);

    std::uint64_t grain_ns_;
    bool observed_ = false;
    std::uint64_t first_ns_ = 0;
    std::uint64_t free_ns_ = 0;        // no detour starts before it any more
    std::uint64_t noise_ns_ = 0;       // since first_ns_
    std::uint64_t start_work_ns_ = 0;  // work done until the begin of the phase that slides
    std::uint64_t within_ns_ = 0;      // sum of delays_: the excess of that phase
    std::deque<Delay> delays_;         // that lie in it
    std::uint64_t told_ns_ = 0;        // the end of the last of begins_, even when that was taken
    std::deque<Begins> begins_;        // that were not taken
  };

  void told(std::size_t cpu, std::size_t before);
  static Begins slowest(const Begins& one, const Begins& other);
  void merge();
  void add(const Begins& node);

  ExcessBlocks& excess_;
  std::vector<CpuBegins> cpus_;
  // A tree: from cpus_.size() on what each CPU does now, and at i < cpus_.size() the slowest of those at 2i and 2i + 1.
  std::vector<Begins> now_;
  std::uint64_t now_ns_ = 0;  // all before it was added
  std::uint64_t observed_ns_ = 0;
  std::size_t waiting_ = 0;  // begins of all CPUs that were not taken
  std::size_t most_waiting_;
  bool complete_ = true;
};

}  // namespace noised::analysis
