// SPDX-License-Identifier: Apache-2.0
// Whose the time of a detour was, in five parts. Whatever adds up in noised adds up as one of these: a detour, the
// totals of a CPU, the time taken from a task.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>

#include "base/saturating.h"
#include "model/types.h"

namespace noised {

/// The kinds of time outside every interval, in the order in which they are counted and shown.
inline constexpr std::array kGapKinds{Kind::overhead, Kind::hypervisor, Kind::hardware, Kind::unexplained};

/// The five parts, in ns. Structs that have more to say derive from it; its operators then mean these parts alone.
struct Ledger {
  std::uint64_t explained_ns = 0;    ///< self times of the intervals inside
  std::uint64_t overhead_ns = 0;     ///< entry, exit and cache refill around intervals
  std::uint64_t hypervisor_ns = 0;   ///< no kernel activity: the hypervisor's
  std::uint64_t hardware_ns = 0;     ///< no kernel activity: the hardware's
  std::uint64_t unexplained_ns = 0;  ///< no kernel activity seen, while events were lost or the clock was in doubt

  /// Returns the time without kernel activity that is not in doubt: the hypervisor's and the hardware's.
  [[nodiscard]] constexpr std::uint64_t outside_ns() const { return saturating_add(hypervisor_ns, hardware_ns); }

  /// Returns the sum of the five parts, or UINT64_MAX where that does not fit.
  [[nodiscard]] constexpr std::uint64_t sum_ns() const {
    return saturating_add(saturating_add(explained_ns, overhead_ns), saturating_add(outside_ns(), unexplained_ns));
  }

  /// Says whether the five parts sum to this time exactly, without overflow on the way.
  [[nodiscard]] constexpr bool adds_up_to(std::uint64_t duration_ns) const {
    for (const std::uint64_t part : {explained_ns, overhead_ns, hypervisor_ns, hardware_ns, unexplained_ns}) {
      if (part > duration_ns) return false;
      duration_ns -= part;
    }
    return duration_ns == 0;
  }

  /// Returns the part of one of kGapKinds.
  [[nodiscard]] constexpr std::uint64_t gap_ns(Kind kind) const { return this->*part_of(kind); }
  [[nodiscard]] constexpr std::uint64_t& gap_ns(Kind kind) { return this->*part_of(kind); }

  /// Calls visit(Kind, ns) for each of kGapKinds that has time, in their order.
  template <typename Visit>
  constexpr void for_each_gap(Visit&& visit) const {
    for (const Kind kind : kGapKinds) {
      if (const std::uint64_t ns = gap_ns(kind); ns != 0) visit(kind, ns);
    }
  }

  /// Replaces the five parts, and nothing else of a struct that derives from this.
  constexpr void set_parts(const Ledger& parts) { *this = parts; }

  /// Adds part by part; a full part stays full.
  constexpr Ledger& operator+=(const Ledger& other) {
    explained_ns = saturating_add(explained_ns, other.explained_ns);
    overhead_ns = saturating_add(overhead_ns, other.overhead_ns);
    hypervisor_ns = saturating_add(hypervisor_ns, other.hypervisor_ns);
    hardware_ns = saturating_add(hardware_ns, other.hardware_ns);
    unexplained_ns = saturating_add(unexplained_ns, other.unexplained_ns);
    return *this;
  }

 private:
  static constexpr std::uint64_t Ledger::* part_of(Kind kind) {
    switch (kind) {
      case Kind::overhead:
        return &Ledger::overhead_ns;
      case Kind::hypervisor:
        return &Ledger::hypervisor_ns;
      case Kind::hardware:
        return &Ledger::hardware_ns;
      default:
        assert(kind == Kind::unexplained);
        return &Ledger::unexplained_ns;
    }
  }
};

}  // namespace noised
