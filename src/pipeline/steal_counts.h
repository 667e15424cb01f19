// SPDX-License-Identifier: Apache-2.0
// How much of each measured CPU's time its host gave to others, by the host's own count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "account/snapshot.h"
#include "system/kernel_events.h"
#include "system/steal_clock.h"

namespace noised::pipeline {

/// From what the programs read at ticks, to the nanosecond; where they cannot, from /proc/stat, in its steps.
class StealCounts {
 public:
  /// Called with the place of a CPU, what was stolen from it since the call before, and how coarse that is.
  using OnStolen = std::function<void(std::size_t place, std::uint64_t stolen_ns, std::uint64_t step_ns)>;

  /// Counts from now on; without a clock, nothing. Both outlive this.
  StealCounts(system::KernelEvents& kernel, system::StealClock* clock, std::span<const unsigned> cpus,
              std::uint64_t now_ns);

  /// The next look is due, however recent the last is: a report will tell steal time.
  void want() { wanted_ = true; }
  /// Once a second: of each CPU a cache line that its ticks write; two system calls where one is counted by /proc/stat.
  void look(std::uint64_t now_ns, const OnStolen& on_stolen);
  /// Into the CPUs of a snapshot, which are at the same places.
  void fill(account::Snapshot& snapshot) const;

 private:
  struct Cpu {
    unsigned cpu;
    bool by_tick = false;                          // the programs have read it
    std::uint64_t tick_ns = 0;                     // what they had counted at the last look, as the next
    std::uint64_t stat_ns = system::kNeverListed;  // the first that is counts as none: it was before
    std::uint64_t stolen_ns = 0;
  };

  void read(Cpu& cpu, const std::vector<std::uint64_t>& stat_ns);
  [[nodiscard]] static std::uint64_t step_ns(const Cpu& cpu) { return cpu.by_tick ? 1 : system::StealClock::step_ns(); }

  system::KernelEvents& kernel_;
  system::StealClock* clock_;
  std::vector<Cpu> cpus_;
  std::uint64_t looked_ns_;
  bool wanted_ = false;
};

}  // namespace noised::pipeline
