// SPDX-License-Identifier: Apache-2.0
// The phases of a node's CPUs: of each by itself, and of all that begin them at the same time. Pure: no clock, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/projection/excess.h"
#include "analysis/projection/sliding_phases.h"

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
  static constexpr std::size_t kMostWaiting = (std::size_t{64} << 20U) / sizeof(Begins);

  /// How much will be observed of each CPU, and how much of all at once.
  JointPhases(std::uint64_t grain_ns, std::span<const std::uint64_t> observed_ns, std::uint64_t all_observed_ns,
              std::size_t most_waiting = kMostWaiting);

  /// The CPU is observed from this time on, but not before the end of its last stretch.
  void begin(std::size_t cpu, std::uint64_t first_ns);
  /// The CPU's next detour, in ns. What of it is before the begin, or the end of another, does not count.
  void detour(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns);
  /// The CPU is observed until this time, or the end of its last detour, and not after it.
  void end(std::size_t cpu, std::uint64_t last_ns);

  [[nodiscard]] std::size_t size() const { return cpus_.size(); }
  /// Of one CPU by itself.
  [[nodiscard]] const ExcessBlocks& cpu(std::size_t cpu) const { return cpus_[cpu].excess(); }
  /// Of all at once: the blocks are of the time in which all are observed, and by age, but for one CPU alone.
  [[nodiscard]] const ExcessBlocks& all() const { return cpus_.size() == 1 ? cpus_.front().excess() : all_; }
  /// False once more waited than may: what was added to all() until then is not all.
  [[nodiscard]] bool complete() const { return complete_; }

 private:
  void told(std::size_t cpu, std::size_t before);
  static Begins slowest(const Begins& one, const Begins& other);
  void merge();

  std::vector<SlidingPhases> cpus_;
  ExcessBlocks all_;
  // A tree: from cpus_.size() on what each CPU does now, and at i < cpus_.size() the slowest of those at 2i and 2i + 1.
  std::vector<Begins> now_;
  std::uint64_t now_ns_ = 0;  // all before it was added
  std::size_t waiting_ = 0;   // of all CPUs, told and not taken
  std::size_t most_waiting_;
  bool complete_ = true;
};

}  // namespace noised::analysis
