// SPDX-License-Identifier: Apache-2.0
// Has the probes of a running daemon do phases of work while somebody records them, and go back to what they did.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "noised/config.h"
#include "noised/exchanges.h"
#include "noised/log.h"
#include "probe/probe.h"
#include "recording/recorder.h"
#include "system/clock.h"

namespace noised::daemon {

// Phases of work as a recording tells of them, and as a probe runs them.

/// What probes are to run in place of their loop.
struct PhasePlan {
  std::uint64_t grain_ns = 0;  ///< 0: no phases, but the loop
  std::uint64_t footprint_bytes = 0;
  bool fifo = false;
  int priority = 1;  ///< with fifo
};

/// The plan in ticks.
probe::PhaseOptions phase_options(const PhasePlan& plan, const system::ClockMap& clock);

/// Samples that a ring must hold for such phases, a power of two: those of 250 ms, ten drains, as far as they fit in
/// 6 MiB; never less than the ring has for detours.
std::size_t ring_capacity(const PhasePlan& plan);

/// What is to be said of the phases that a probe found: that they are not as long as they should be, that waiting for
/// memory is taken for detours, or that their memory is not locked. Mostly nothing.
std::vector<std::string> remarks_on(const probe::FittedPhases& fitted, const PhasePlan& plan, unsigned cpu);

/// Main thread. What it refers to outlives it.
class PhaseRuns {
 public:
  /// `usual`: what the probes were started with.
  PhaseRuns(const std::vector<std::unique_ptr<probe::Probe>>& probes, recording::Recorder& recorder,
            PhaseExchange& exchange, const system::ClockMap& clock, const Log& log, const Config& config,
            PhasePlan usual);

  /// Before each look of the recorder's after a drain: goes on from what is asked, ready, recorded or ended. Waits for
  /// nobody.
  void step();

 private:
  enum class State : std::uint8_t { usual, changing, running, returning };

  [[nodiscard]] bool is_recorded() const;
  void begin(const PhaseRequest& request);
  [[nodiscard]] Result<PhasePlan> plan(const PhaseRequest& request) const;
  [[nodiscard]] Status check_policy(const PhasePlan& plan) const;
  void change_all(const PhasePlan& plan);
  void look_at_changing();
  void look_at_returning();
  void run();

  const std::vector<std::unique_ptr<probe::Probe>>& probes_;
  recording::Recorder& recorder_;
  PhaseExchange& exchange_;
  const system::ClockMap& clock_;
  const Log& log_;
  const Config& config_;
  PhasePlan usual_;
  PhasePlan plan_;  // while it is not `usual`
  State state_ = State::usual;
  bool answered_ = false;
  std::optional<Error> failed_;       // why there are no phases: to be told once all is as it was
  std::optional<PhaseRequest> next_;  // what was asked while the probes return
};

}  // namespace noised::daemon
