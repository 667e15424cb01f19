// SPDX-License-Identifier: Apache-2.0
// How much shorter a detour would be without one of its sources. Pure: no clock, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attribution/ledger.h"

namespace noised {

/// What goes with a source: its self times; callbacks (timers, functions of IPIs, work) and page faults inside of it,
/// which cannot run by themselves; what only carried it, as a timer interrupt that ran this timer and no other one, or
/// the kworker of this work; and when then no entry is left, the overhead of entering the kernel. Interrupts that came
/// while the source ran would have come anyway, and time without kernel activity stays.
class Removal {
 public:
  /// Looks at a detour, which must stay as it is until the next call.
  void look_at(const Ledger& ledger);
  /// In ns; 0 where the source is not in the detour.
  [[nodiscard]] std::uint64_t without(SourceId source);

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  void take_what_is_inside(SourceId source);
  void take_what_carried_it();

  const Ledger* ledger_ = nullptr;
  std::vector<std::size_t> parents_;  // by entry: the one around it
  std::vector<std::size_t> last_at_;  // by depth: the last entry there
  std::vector<bool> gone_;            // by entry, as the next
  std::vector<bool> carries_;         // a callback that is not gone
  std::vector<bool> carried_;         // a callback that is gone
};

}  // namespace noised
