// SPDX-License-Identifier: Apache-2.0
// The report: what was measured, as plain values. Fields, names and order are those of the contract in design.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/ledger.h"

namespace noised {

struct ReportClock {
  std::string source;                ///< "tsc"
  std::uint64_t uncertainty_ns = 0;  ///< of the mapping between the loop's clock and the kernel's
  /// Share of intervals inside exactly one detour, on the CPU where it is smallest; null before the first one.
  std::optional<double> containment;
  std::optional<std::uint64_t> containment_cpu;  ///< that CPU; nothing too where old recordings do not tell it
};

/// Something lost or not seen, where and why.
struct ReportLoss {
  std::optional<unsigned> cpu;  ///< nothing: the kernel does not tell on which CPU
  std::string reason;           ///< "ring_full"; packaging/doc/reading.md lists them
  std::uint64_t count = 0;
};

/// The reason of a CPU that was blind: so many interrupts did the kernel count there while next to nothing was seen.
inline constexpr const char* kBlind = "blind";

struct ReportLost {
  std::uint64_t events = 0;              ///< records the kernel could not hand over
  std::uint64_t detours = 0;             ///< detours the loop could not hand over
  std::uint64_t unpaired = 0;            ///< entries without exit, exits without entry
  std::uint64_t missed_runs = 0;         ///< program runs the kernel refused (recursion_misses)
  std::uint64_t incomplete_detours = 0;  ///< detours touched by any of these
  std::vector<ReportLoss> by;            ///< the same by CPU and reason, and times when a loop was off its CPU
};

/// What one source took of a detour.
struct ReportPart {
  std::string kind;
  std::string name;
  std::uint64_t self_ns = 0;
};

/// One CPU; the five parts of its ledger sum to detour_ns.
struct ReportCpu : Ledger {
  unsigned cpu = 0;
  std::string mode;  ///< "probe"
  std::uint64_t observed_ns = 0;
  std::uint64_t iterations = 0;
  std::uint64_t threshold_ns = 0;
  std::uint64_t detours = 0;
  std::uint64_t detour_ns = 0;
  std::uint64_t max_detour_ns = 0;
  std::uint64_t blind_ns = 0;       ///< not observed, and in none of the above: the loop was stopped or moved
  std::uint64_t steal_ns = 0;       ///< steal time that the hypervisor counted meanwhile, in rests too
  std::uint64_t steal_step_ns = 0;  ///< how coarse that is; 0: none was counted here
  std::string
      steal_source;  ///< "ticks" or "/proc/stat"; empty with a step: the ledger was divided by it, as it was once
  std::optional<std::uint64_t> smi_count;  ///< system management interrupts; known when the measurement has ended
  std::optional<double> containment;       ///< of its own intervals; null: there was none to check
  std::vector<ReportPart> longest;         ///< of its longest detour, falling; only in a report of the last minute
};

struct ReportSource {
  unsigned cpu = 0;
  std::string category;
  std::string kind;
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;  ///< self time: nested sources have theirs
  std::uint64_t min_ns = 0;
  std::uint64_t mean_ns = 0;
  std::uint64_t max_ns = 0;
  std::uint64_t stddev_ns = 0;
  double share = 0;                     ///< of the CPU's detour_ns
  std::uint64_t stretched = 0;          ///< of `count`: those of which some time was provably the host's,
  std::uint64_t stolen_by_host_ns = 0;  ///< and how much of it, at least
  std::uint64_t pid = 0;                ///< of the one task that took it; 0: none did, or several of that name
};

struct ReportCombination {
  std::vector<std::string> sources;  ///< "kind:name", in order of their first start
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t max_ns = 0;
  std::uint64_t min_ns = 0;
  std::uint64_t mean_ns = 0;
  std::uint64_t stddev_ns = 0;
};

struct Report {
  std::string host;
  std::string kernel;
  std::string start;  ///< RFC 3339, UTC
  std::uint64_t elapsed_ns = 0;
  ReportClock clock;
  ReportLost lost;
  std::vector<std::string> unsupported;
  std::vector<ReportCpu> cpus;
  std::vector<ReportSource> sources;            ///< by CPU, then total time, falling
  std::vector<ReportCombination> combinations;  ///< by total time, falling
};

}  // namespace noised
