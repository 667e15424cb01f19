// SPDX-License-Identifier: Apache-2.0
// The phases of one CPU, as they are and as they would be without each of some sources. Pure: no clock, no I/O.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "analysis/removable.h"
#include "analysis/removal.h"
#include "analysis/sliding_phases.h"
#include "attribution/ledger.h"

namespace noised {

class CpuPhases {
 public:
  /// `observed_ns`: how much will be observed of this CPU in all. Sources are numbered as in `sources`.
  CpuPhases(std::uint64_t grain_ns, std::uint64_t observed_ns, std::span<const RemovableSource> sources);

  void begin(std::uint64_t first_ns);
  void add(const Ledger& ledger);
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
  void find_gone(const Ledger& ledger, std::uint64_t* gone_ns);
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

}  // namespace noised
