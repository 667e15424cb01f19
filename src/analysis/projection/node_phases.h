// SPDX-License-Identifier: Apache-2.0
// The phases of a node, as they are and as they would be without each of some sources. Pure: no clock, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "account/attributor.h"
#include "analysis/projection/after_costs.h"
#include "analysis/projection/joint_phases.h"
#include "analysis/projection/removal.h"

namespace noised::analysis {

class NodePhases {
 public:
  /// 256 MiB at most wait for CPUs that are behind, for the whole and all sources.
  static constexpr std::size_t kMostWaiting = 4 * JointPhases::kMostWaiting;

  /// How much will be observed of each CPU, and how much of all at once. Sources are numbered as in `sources`. With
  /// `after`, which outlives this, every detour is longer by what its activations cost the work behind it: where that
  /// reaches into the next detour, it ends there.
  NodePhases(std::uint64_t grain_ns, std::span<const std::uint64_t> observed_ns, std::uint64_t all_observed_ns,
             std::span<const RemovableSource> sources, AfterCosts* after = nullptr);

  // As those of JointPhases.
  void begin(std::size_t cpu, std::uint64_t first_ns);
  void add(std::size_t cpu, const account::DetourLedger& ledger);
  void end(std::size_t cpu, std::uint64_t last_ns);

  [[nodiscard]] const JointPhases& whole() const { return *phases_.front(); }
  /// Every detour shorter by what Removal says, and otherwise where it was.
  [[nodiscard]] const JointPhases& without(std::size_t source) const { return *phases_[source + 1]; }

 private:
  // Detours wait until there are so many of a CPU: then the phases of one after the other take them, from near caches.
  static constexpr std::size_t kTogether = 256;
  struct Waiting {
    std::vector<Detour> detours;
    std::vector<std::uint64_t> gone_ns;  // by detour, then number of the source
  };
  void find_gone(const account::DetourLedger& ledger, std::uint64_t* gone_ns);
  void add_after(const account::DetourLedger& ledger, std::uint64_t after_ns, std::uint64_t* gone_ns);
  void slide(std::size_t cpu);

  std::vector<Kind> kinds_;           // by number
  std::vector<std::size_t> numbers_;  // by source; SIZE_MAX: none of ours
  Removal removal_;
  AfterCosts* after_;
  std::vector<double> own_after_;                     // by number, of one detour
  std::vector<Waiting> waiting_;                      // by CPU
  std::vector<std::unique_ptr<JointPhases>> phases_;  // the whole, then by number
};

}  // namespace noised::analysis
