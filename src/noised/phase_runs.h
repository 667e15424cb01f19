// SPDX-License-Identifier: Apache-2.0
// Has the probes of a running daemon do phases of work while somebody records them, and go back to what they did.
#pragma once

#include <noised/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probe/probe.h"
#include "recording/recorder.h"
#include "service/config.h"
#include "service/log.h"
#include "service/phase_exchange.h"
#include "service/phase_plan.h"
#include "trace/clock.h"

namespace noised {

/// Main thread. What it refers to outlives it.
class PhaseRuns {
 public:
  /// `usual`: what the probes were started with.
  PhaseRuns(const std::vector<std::unique_ptr<Probe>>& probes, Recorder& recorder, PhaseExchange& exchange,
            const ClockMap& clock, const Log& log, const Config& config, PhasePlan usual);

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

  const std::vector<std::unique_ptr<Probe>>& probes_;
  Recorder& recorder_;
  PhaseExchange& exchange_;
  const ClockMap& clock_;
  const Log& log_;
  const Config& config_;
  PhasePlan usual_;
  PhasePlan plan_;  // while it is not `usual`
  State state_ = State::usual;
  bool answered_ = false;
  std::optional<Error> failed_;       // why there are no phases: to be told once all is as it was
  std::optional<PhaseRequest> next_;  // what was asked while the probes return
};

}  // namespace noised
