// SPDX-License-Identifier: Apache-2.0
// Where, of all that a loop saw, the host's steal time lies: as far as it can be proven. Pure: no clock, no I/O.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "account/attributor.h"
#include "model/types.h"

namespace noised::account {

/// Between two readings of its count, somewhere from one time to the other, the host had the CPU's thread wait so long.
struct StealWindow {
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = 0;
  std::uint64_t stolen_ns = 0;
};

/// A loop that goes round every 10 ns cannot wait unseen: all of a window's steal time lies in detours. So what the
/// other parts of the detours in the window have no room for was taken from this one: a lower bound, and only that is
/// told. The rest of the steal time lies somewhere in the window.
class StealMarks {
 public:
  /// Parts of detours that are remembered: 24,000 gaps a second over the 10 ms of the longest tick are 240.
  static constexpr std::size_t kParts = 1024;
  /// Windows that may wait for a detour.
  static constexpr std::size_t kWindows = 256;

  StealMarks();

  /// Adds a window; they come in order, before the first detour that begins after their end. Nothing is remembered
  /// before the first of them, so that nothing can be proven in it.
  void add(const StealWindow& window);
  /// Adds the next detour. First, those windows that ended before it are done with, since all that lies in them is
  /// there: visit(SourceId, Kind, std::uint64_t stolen_ns, bool again) is called for each part of a detour of which at
  /// least so much was stolen; `again`: of this part, some was by the window before too.
  template <typename Visit>
  void add(const DetourLedger& ledger, Visit&& visit) {
    std::size_t done = 0;
    for (; done < windows_.size() && windows_[done].to_ns <= ledger.detour.start_ns; ++done)
      prove(windows_[done], visit);
    windows_.erase(windows_.begin(), windows_.begin() + static_cast<std::ptrdiff_t>(done));
    add(ledger);
  }
  /// Nobody looked at this time: of a window that touches it nothing can be proven.
  void add_unseen(const Detour& time);
  /// What comes next does not follow what came before: that is forgotten.
  void forget();

 private:
  struct Part {
    std::uint64_t start_ns;  // of its detour, as the next
    std::uint64_t end_ns;
    std::uint64_t ns;  // its own
    SourceId source;
    Kind kind;   // none: unseen
    bool first;  // of its detour's
    bool marked;
  };

  void add(const DetourLedger& ledger);
  void remember(const Part& part);
  [[nodiscard]] Part& newest(std::size_t age) { return parts_[(next_ + parts_.size() - 1 - age) % parts_.size()]; }
  static std::uint64_t inside(const Part& part, const StealWindow& window);
  // How much room there is in the window, in `touching` parts from the newest on; 0: nothing can be proven.
  std::uint64_t room_in(const StealWindow& window, std::size_t& touching);

  template <typename Visit>
  void prove(const StealWindow& window, Visit& visit) {
    std::size_t touching = 0;
    const std::uint64_t room_ns = room_in(window, touching);
    if (room_ns < window.stolen_ns) return;
    for (std::size_t age = 0; age < touching; ++age) {
      Part& part = newest(age);
      // Of a detour that is cut by the window's edge, all that is inside may be the others'.
      const std::uint64_t inside_ns = inside(part, window);
      const std::uint64_t beside_ns = std::min(part.end_ns - part.start_ns - part.ns, inside_ns);
      const std::uint64_t others_ns = room_ns - inside_ns + beside_ns;
      if (window.stolen_ns <= others_ns) continue;
      visit(part.source, part.kind, window.stolen_ns - others_ns, part.marked);
      part.marked = true;
    }
  }

  std::vector<Part> parts_;  // a ring once it is full
  std::size_t next_ = 0;
  std::uint64_t forgotten_ns_ = UINT64_MAX;  // until then parts may be missing; the largest: until the next detour
  std::vector<StealWindow> windows_;
  bool has_windows_ = false;
};

}  // namespace noised::account
