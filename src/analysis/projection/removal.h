// SPDX-License-Identifier: Apache-2.0
// How much shorter a detour would be without one of its sources. Pure: no clock, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "account/attributor.h"
#include "model/sources.h"

namespace noised::analysis {

/// What goes with a source: its self times; callbacks (timers, functions of IPIs, work) and page faults inside of it,
/// which cannot run by themselves; what only carried it, as a timer interrupt that ran this timer and no other one, or
/// the kworker of this work; and when then no entry is left, the overhead of entering the kernel. Interrupts that came
/// while the source ran would have come anyway, and time without kernel activity stays.
class Removal {
 public:
  /// Looks at a detour, which must stay as it is until the next call.
  void look_at(const account::DetourLedger& ledger);
  /// In ns; 0 where the source is not in the detour.
  [[nodiscard]] std::uint64_t without(SourceId source) { return without(std::span(&source, 1)); }
  /// The same without all of these.
  [[nodiscard]] std::uint64_t without(std::span<const SourceId> sources);

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  void take_what_is_inside(std::span<const SourceId> sources);
  void take_what_carried_it();

  const account::DetourLedger* ledger_ = nullptr;
  std::vector<std::size_t> parents_;  // by entry: the one around it
  std::vector<std::size_t> last_at_;  // by depth: the last entry there
  std::vector<bool> gone_;            // by entry, as the next
  std::vector<bool> carries_;         // a callback that is not gone
  std::vector<bool> carried_;         // a callback that is gone
};

// Which sources are worth asking what removing them would give back. Pure: no clock, no I/O.

/// A source, of all CPUs together.
struct RemovableSource {
  SourceId id = 0;
  Kind kind = Kind::none;
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;    ///< self time, as the next
  std::uint64_t longest_ns = 0;  ///< in one detour's ledger
};

/// Self times of all sources. Memory grows with sources only.
class SourceTotals {
 public:
  void add(const account::DetourLedger& ledger, const SourceTable& sources);

  /// So many at most: first those with the most time, which cost small jobs, then those with the longest single time,
  /// which cost large ones. Sources that were only counted (faults that the kernel refuses to time) and overhead, which
  /// goes with its source, are none of them.
  [[nodiscard]] std::vector<RemovableSource> choose(std::size_t most, const SourceTable& sources) const;
  /// All with a time.
  [[nodiscard]] std::vector<RemovableSource> timed(const SourceTable& sources) const;
  /// Those that were only counted.
  [[nodiscard]] std::vector<RemovableSource> untimed(const SourceTable& sources) const;

 private:
  struct Total {
    std::uint64_t count = 0;
    std::uint64_t total_ns = 0;
    std::uint64_t longest_ns = 0;
  };
  void add(SourceId source, std::uint64_t self_ns);
  [[nodiscard]] std::vector<RemovableSource> list(bool timed, const SourceTable& sources) const;

  std::vector<Total> totals_;  // by source
};

}  // namespace noised::analysis
