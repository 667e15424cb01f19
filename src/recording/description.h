// SPDX-License-Identifier: Apache-2.0
// What a recording says in words: the machine, the run, and everything counted so far, as JSON.
#pragma once

#include <noised/result.h>
#include <noised/types.h>
#include <noised/views.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attribution/matcher.h"
#include "pipeline/snapshot.h"

namespace noised {

/// What was counted of one CPU besides its detours.
struct CpuCounts {
  unsigned cpu = 0;
  std::uint64_t threshold_ns = 0;
  std::uint64_t observed_ns = 0;
  std::uint64_t iterations = 0;
  std::uint64_t blind_ns = 0;
  std::uint64_t steal_ns = 0;
  std::uint64_t steal_step_ns = 0;
  std::optional<std::uint64_t> smi_count;
};

/// Everything that was counted since the daemon started, but for detours and their sources.
struct Counts {
  StatusView status;  ///< its uptime is the elapsed time
  Containment containment;
  std::vector<CpuCounts> cpus;
};

/// The counts of a snapshot, on top of the settings.
Counts counts_of(const Snapshot& snapshot, const StatusView& settings);
/// What was counted from `from` to `to`, both of one daemon.
Counts counts_between(const Counts& from, const Counts& to);
std::string to_json(const Counts& counts);
Result<Counts> parse_counts(std::string_view json);

/// The first block of a recording.
struct Description {
  std::string start;            ///< of the daemon; RFC 3339, UTC
  std::string boot_parameters;  ///< /proc/cmdline
  std::string processor;        ///< as the processor calls itself
  Counts base;                  ///< what had been counted when the recording began
};

std::string to_json(const Description& description);
Result<Description> parse_description(std::string_view json);

/// Boot parameters and processor of this machine; empty where they cannot be read.
void describe_machine(Description& description);

}  // namespace noised
