// SPDX-License-Identifier: Apache-2.0
// Where noised showed a source: what the truth is compared with. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/views.h"

#include "selftest/truth.h"

namespace noised::selftest {

/// What one detour has of the sources that were looked for.
struct ShownEvent {
  std::uint64_t start_ns = 0;  ///< of the detour
  std::uint64_t end_ns = 0;
  std::uint64_t intervals = 0;
  std::uint64_t task_ns = 0;  ///< self time of the tasks, and of what is nested in them
  bool incomplete = false;    ///< the detour is marked so
  bool summed = false;        ///< the detour has too many intervals to show one by one: what is in what is not known
  bool placeless = false;     ///< it has some, but whether inside the wanted task is not known; `intervals` is 0
  bool stretched = false;     ///< noised says that the host took time from it
  bool wrong_waker = false;   ///< noised names another waker
};

struct Wanted {
  std::vector<Identity> identities;  ///< any of these
  unsigned pid = 0;                  ///< entries that show another pid are somebody else's; 0: none is
  std::string inside;                ///< only nested in this task; empty: anywhere
  std::string victim;                ///< not nested in another task than this; empty: anywhere
  std::string waker;                 ///< what an entry that shows a waker must show; empty: anything
};

/// The shown events on a CPU, in the order of the detours.
std::vector<ShownEvent> find_shown_events(const Wanted& wanted, unsigned cpu, std::span<const DetourView> detours);

/// Whether [start_ns, end_ns] of one and the other have an instant in common.
template <typename One, typename Other>
bool overlap(const One& one, const Other& other) {
  return one.start_ns <= other.end_ns && other.start_ns <= one.end_ns;
}

}  // namespace noised::selftest
