// SPDX-License-Identifier: Apache-2.0
// One CPU as Paraver has it: states that follow each other, and events between them. Pure: no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "account/attributor.h"
#include "model/sources.h"

namespace noised::exports {

/// Values of states. A source's is kStateOfSource + its id.
enum : std::uint64_t {
  kStateNotObserved = 0,
  kStateUndisturbed = 1,
  kStateOutside = 2,  ///< in a detour, in no interval, and the detour has more than one of the four parts
  kStateOfSource = 10,
};

/// Of the work, as progress tells it: a record is read and written again about as fast as it is played.
inline constexpr double kShareOfPlaying = 0.5;
inline constexpr std::uint64_t kBetweenProgress = 1U << 16U;

/// Types of events; what each says stands in paraver_names.cpp.
enum : std::uint32_t {
  kEventDetour = 81000001,
  kEventExplained,
  kEventOverhead,
  kEventHypervisor,
  kEventHardware,
  kEventUnexplained,
  kEventIncomplete,
  kEventOverlap,
  kEventLoss,
  kEventWaited,
  kEventInterval = 82000001,
  kEventLost = 83000001,
  kEventLostAnywhere,
  kEventTimeZero = 84000001,
  kEventUnsupported = 85000001,
};

/// A state (type 0) from time_ns to end_ns, or an event at time_ns.
struct ParaverRecord {
  std::uint64_t time_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t value = 0;
  std::uint64_t type = 0;
  std::uint32_t row = 0;  ///< where tasks were watched: whose it is, and
  std::uint32_t cpu = 0;  ///< where it was
};

/// Makes the records of a CPU, in order of time. In a detour each state is the self time of an interval: the sum of a
/// source's states is what the ledger has of it. Recordings do not say which of the gaps between intervals is overhead,
/// only how much of all is: where a detour has several such parts, its gaps are one state, and events tell the parts.
class ParaverTimeline {
 public:
  using Add = std::function<void(const ParaverRecord& record)>;

  /// What is referred to outlives it.
  ParaverTimeline(const SourceTable& sources, Add add) : sources_(sources), add_(std::move(add)) {}

  /// Recorded from this time on.
  void begin(std::uint64_t first_ns);
  /// Recording was interrupted: until the next detour or gap nothing is known.
  void interrupt() { known_ = false; }
  /// The next detour.
  void detour(const account::DetourLedger& ledger);
  /// The next time that was not observed.
  void gap(std::uint64_t start_ns, std::uint64_t end_ns);

 private:
  struct Open {
    std::uint64_t state;
    std::uint64_t left_ns;
  };
  void undisturbed(std::uint64_t until_ns);
  void parts(const account::DetourLedger& ledger, std::uint64_t at_ns);
  void advance(std::uint64_t to_ns);
  void state(std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t value);
  void event(std::uint64_t at_ns, std::uint32_t type, std::uint64_t value);
  [[nodiscard]] std::uint64_t outside_of(const Ledger& ledger) const;

  const SourceTable& sources_;
  Add add_;
  bool known_ = false;
  std::uint64_t until_ns_ = 0;   // everything before it has its state
  std::uint64_t cursor_ns_ = 0;  // in the detour
  std::uint64_t outside_ = 0;    // state of the gaps of the detour
  std::vector<Open> open_;       // the innermost last
};

}  // namespace noised::exports
