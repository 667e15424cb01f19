// SPDX-License-Identifier: Apache-2.0
// Advice: the noise of a measurement, by what can be done about it, with the gain to expect. Pure.
#pragma once

#include "model/report.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/advice/collector.h"
#include "analysis/advice/machine.h"

namespace noised::analysis {

/// What a remedy gives back, as a share of the CPUs' time (ns a ns).
struct Gain {
  Share share;
  bool at_most = false;           ///< it may be less, down to nothing
  double detours_per_second = 0;  ///< that would not be there, of each CPU
  std::uint64_t longest_ns = 0;   ///< of one detour
};

struct AdviceSource {
  std::string kind;
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t self_ns = 0;
};

struct AdviceItem {
  std::string rule;
  std::string title;
  std::string object;  ///< empty: the rule says it all
  std::uint64_t total_ns = 0;
  std::uint64_t self_ns = 0;                                   ///< self_ns + overhead_ns = total_ns
  std::uint64_t overhead_ns = 0;                               ///< of detours in which nothing else happened
  double share = 0;                                            ///< of the detours' time
  std::vector<AdviceSource> sources;                           ///< by self time, falling
  std::vector<std::pair<std::string, std::uint64_t>> senders;  ///< of interrupts, by count, falling
  double remaining_per_second = 0;  ///< events that are taken to stay, on each CPU, and are not in the gain
  std::optional<Gain> gain;         ///< of all of its remedies that are still to be had; nothing if there is none
  std::vector<Remedy> remedies;
};

/// Remedies together: what several of them cure counts once.
struct AdvicePlan {
  Gain sure;     ///< from noise that is expected to go
  Gain at_most;  ///< with noise of which nobody can say how much goes
};

struct Advice {
  bool live = false;  ///< the settings of the machine were looked at
  std::string why;    ///< if not
  std::uint64_t observed_ns = 0;
  std::uint64_t detours = 0;
  std::uint64_t detour_ns = 0;  ///< = the items' total_ns + shared_overhead_ns
  std::uint64_t shared_overhead_ns = 0;
  Share noise;
  Share caused;  ///< the part of it that has a cause in the kernel, of which gains are parts
  std::vector<unsigned> cpus;
  std::vector<unsigned> housekeeping;
  std::vector<AdviceItem> items;  ///< by gain, then by total, falling
  std::string boot_line;          ///< parameters that isolate, to add or replace; empty: none
  std::optional<AdvicePlan> boot;
  AdvicePlan every;  ///< all remedies that are still to be had
};

/// The advice out of what was collected; `report` is of the same detours.
Advice advise(const AdviceCollector& collected, const SourceTable& sources, const Machine& machine,
              const Report& report);

}  // namespace noised::analysis
