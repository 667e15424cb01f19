// SPDX-License-Identifier: Apache-2.0
// What a recording says in words: the machine, the run, and everything counted so far, as JSON.
#pragma once

#include "base/result.h"
#include "model/types.h"
#include "model/views.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "account/matcher.h"
#include "account/snapshot.h"

namespace noised::recording {

/// What was counted of one CPU besides its detours.
struct CpuCounts {
  unsigned cpu = 0;
  std::uint64_t threshold_ns = 0;
  std::uint64_t observed_ns = 0;
  std::uint64_t iterations = 0;
  std::uint64_t blind_ns = 0;
  std::uint64_t steal_ns = 0;
  std::uint64_t steal_step_ns = 0;
  std::string steal_source;  ///< empty in recordings whose ledger was divided by steal time
  std::optional<std::uint64_t> smi_count;
  std::optional<std::uint64_t> switches;  ///< by which the scheduler took the CPU from the loop, by its own count
  std::optional<account::Containment>
      containment;  ///< of its own intervals; recordings from before it was told have none
};

/// The clocks at one moment: TSC and CLOCK_MONOTONIC within half_width_ticks.
struct ClockReading {
  std::uint64_t ticks = 0;         ///< time stamp counter
  std::uint64_t monotonic_ns = 0;  ///< the clock of everything in a recording
  std::uint64_t realtime_ns = 0;   ///< since 1970
  std::uint64_t half_width_ticks = 0;
};

/// Everything that was counted since the daemon started, but for detours and their sources.
struct Counts {
  StatusView status;                 ///< its uptime is the elapsed time
  account::Containment containment;  ///< of all CPUs together
  ClockReading clock;
  std::vector<CpuCounts> cpus;
};

/// The clocks now.
ClockReading read_clocks();
/// The counts of a snapshot, on top of the settings.
Counts counts_of(const account::Snapshot& snapshot, const StatusView& settings);
/// What was counted from `from` to `to`, both of one daemon.
Counts counts_between(const Counts& from, const Counts& to);
std::string to_json(const Counts& counts);
Result<Counts> parse_counts(std::string_view json);

/// The first block of a recording.
struct Description {
  std::string start;                  ///< of the daemon; RFC 3339, UTC
  std::string boot_parameters;        ///< /proc/cmdline
  std::string processor;              ///< as the processor calls itself
  std::uint64_t quantum_ns = 0;       ///< of the samples of the loop's work; 0: none, as the next
  std::uint64_t work = 0;             ///< iterations from one sample to the next
  std::uint64_t grain_ns = 0;         ///< what a phase was calibrated to, in whose place no loop ran; 0: no phases
  std::uint64_t footprint_bytes = 0;  ///< that each phase walked through; 0: none
  std::string policy;                 ///< of the measuring threads: "other" or "fifo"; empty: not known
  std::uint64_t priority = 0;         ///< theirs with fifo; 0: not known, or other
  Counts base;                        ///< what had been counted when the recording began
};

std::string to_json(const Description& description);
Result<Description> parse_description(std::string_view json);

/// Boot parameters and processor of this machine; empty where they cannot be read.
void describe_machine(Description& description);

}  // namespace noised::recording
