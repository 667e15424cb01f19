// SPDX-License-Identifier: Apache-2.0
// One step each drain, so that the pipeline never waits for a probe.
#include "noised/phase_runs.h"

#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "views/views.h"

namespace noised::daemon {
namespace {

constexpr std::uint64_t kLongestTriedNs = 10'000'000;
constexpr std::uint64_t kHeldNs = 250'000'000;
constexpr std::size_t kMostHeld = std::size_t{1} << 18U;
// What a recording is to say: 5% would be seen in every figure made of it.
constexpr double kBadDeviation = 0.05;
// A gap in 200 iterations is one in 2 to 6 us: no noise is so dense, but every other line comes from memory so.
constexpr double kManyDetours = 0.005;

}  // namespace

probe::PhaseOptions phase_options(const PhasePlan& plan, const system::ClockMap& clock) {
  if (plan.grain_ns == 0) return {};
  return {clock.to_ticks(plan.grain_ns), clock.to_ticks(kLongestTriedNs), plan.footprint_bytes};
}

std::size_t ring_capacity(const PhasePlan& plan) {
  const std::size_t least = probe::ProbeOptions().ring_capacity;
  if (plan.grain_ns == 0) return least;
  return std::clamp(std::bit_ceil(static_cast<std::size_t>(kHeldNs / plan.grain_ns)), least, kMostHeld);
}

std::vector<std::string> remarks_on(const probe::FittedPhases& fitted, const PhasePlan& plan, unsigned cpu) {
  std::vector<std::string> remarks;
  if (std::abs(fitted.deviation) > kBadDeviation) {
    remarks.push_back(
        fmt::format("phases of {} on CPU {}: calibrated to {:+.1f}% of that only, as it is disturbed too "
                    "much, or an iteration takes too long",
                    views::format_duration(plan.grain_ns), cpu, fitted.deviation * 100));
  }
  if (fitted.detours > kManyDetours) {
    remarks.push_back(
        fmt::format("detours apart from waiting for memory on CPU {}: {:.1f}% of all readings of the clock "
                    "take longer than the threshold: give a larger --threshold, or a smaller --footprint",
                    cpu, fitted.detours * 100));
  }
  if (!fitted.locked) {
    remarks.push_back(
        fmt::format("memory of phases locked on CPU {}: RLIMIT_MEMLOCK does not allow it (LimitMEMLOCK=infinity, "
                    "ulimit -l); where it is swapped out, page faults show",
                    cpu));
  }
  return remarks;
}

namespace {

// In all: who may ask must not be able to have the daemon killed for its memory (MemoryMax in its unit).
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30U;

bool is_busy(const probe::Probe& probe) {
  const probe::ChangeState state = probe.change_state();
  return state == probe::ChangeState::working || state == probe::ChangeState::ready;
}

}  // namespace

PhaseRuns::PhaseRuns(const std::vector<std::unique_ptr<probe::Probe>>& probes, recording::Recorder& recorder,
                     PhaseExchange& exchange, const system::ClockMap& clock, const Log& log, const Config& config,
                     PhasePlan usual)
    : probes_(probes),
      recorder_(recorder),
      exchange_(exchange),
      clock_(clock),
      log_(log),
      config_(config),
      usual_(usual) {}

void PhaseRuns::step() {
  if (auto asked = exchange_.take()) next_ = asked;
  if (next_ && !exchange_.waited_for()) next_.reset();  // whoever it was has given up
  switch (state_) {
    case State::usual:
      if (next_) begin(*next_);
      next_.reset();
      break;
    case State::changing:
      look_at_changing();
      break;
    case State::running:
      if (is_recorded()) break;
      change_all(usual_);
      state_ = State::returning;
      break;
    case State::returning:
      look_at_returning();
      break;
  }
}

// The recording that these phases are for is going on, or prepared: who asks anew holds another.
bool PhaseRuns::is_recorded() const { return !next_ && recorder_.is_held_or_recording(); }

Result<PhasePlan> PhaseRuns::plan(const PhaseRequest& request) const {
  PhasePlan plan = usual_;
  plan.grain_ns = request.grain_ns;
  plan.fifo = request.fifo.value_or(usual_.fifo);
  if (Status fits = check_fits_duty_cycle("grain", plan.grain_ns, config_.duty_percent); !fits) return fits.error();
  std::vector<unsigned> cpus;
  for (const auto& probe : probes_) {
    if (probe->is_away())
      return failure(fmt::format("CPU {} is not measured now: phases cannot run there", probe->cpu()));
    cpus.push_back(probe->cpu());
  }
  const auto bytes = probe::footprint_bytes(request.footprint, cpus);
  if (!bytes) return bytes.error();
  plan.footprint_bytes = bytes.value();
  if (bytes.value() * cpus.size() > kMostBytes) {
    return failure(
        fmt::format("footprint: {} CPUs with {} bytes each need more than 1 GiB", cpus.size(), bytes.value()),
        "give a smaller one, or start the daemon with it");
  }
  if (Status allowed = check_policy(plan); !allowed) return allowed.error();
  return plan;
}

// What cannot be undone is not begun: a thread that has given up its priority may not get it back.
Status PhaseRuns::check_policy(const PhasePlan& plan) const {
  rlimit limit{};
  if (plan.fifo || !usual_.fifo) return success();  // the probe itself will see
  if (::getrlimit(RLIMIT_RTPRIO, &limit) == 0 && limit.rlim_cur >= static_cast<rlim_t>(usual_.priority))
    return success();
  return failure("policy other: the probes could not return to fifo, as the daemon has given up the right to choose it",
                 "leave out --policy, or start the daemon with a limit of real-time priority (LimitRTPRIO=99 in its "
                 "unit, ulimit -r)");
}

void PhaseRuns::begin(const PhaseRequest& request) {
  if (request.grain_ns == 0) {
    recorder_.begin(std::nullopt);
    return exchange_.answer(success());
  }
  const auto planned = plan(request);
  if (!planned) return exchange_.answer(planned.error());
  plan_ = planned.value();
  failed_.reset();
  answered_ = false;
  exchange_.set_active(true);
  change_all(plan_);
  state_ = State::changing;
}

void PhaseRuns::change_all(const PhasePlan& plan) {
  for (const auto& probe : probes_) probe->change({phase_options(plan, clock_), plan.fifo, plan.priority});
}

void PhaseRuns::look_at_changing() {
  bool busy = false;
  bool working = false;
  for (const auto& probe : probes_) {
    busy = busy || is_busy(*probe);
    working = working || probe->change_state() == probe::ChangeState::working;
    if (probe->change_state() == probe::ChangeState::failed) failed_ = probe->change_error();
  }
  if (!working && !failed_ && !answered_ && !next_) {
    exchange_.answer(success());
    answered_ = true;
  }
  if (busy) return;
  if (!failed_ && is_recorded()) return run();
  change_all(usual_);
  state_ = State::returning;
}

// All of them run phases: their recording begins.
void PhaseRuns::run() {
  recording::PhaseRecording recording{plan_.grain_ns, plan_.footprint_bytes, plan_.fifo ? "fifo" : "other", 0, {}};
  if (plan_.fifo) recording.priority = static_cast<std::uint64_t>(plan_.priority);
  for (const auto& probe : probes_) {
    for (std::string& remark : remarks_on(probe->fitted(), plan_, probe->cpu())) {
      log_.warning("{}", remark);
      recording.remarks.push_back(std::move(remark));
    }
  }
  recorder_.begin(std::move(recording));
  state_ = State::running;
}

void PhaseRuns::look_at_returning() {
  for (const auto& probe : probes_) {
    if (is_busy(*probe)) return;
    if (probe->change_state() == probe::ChangeState::failed) log_.error("{}", probe->change_error().line());
  }
  state_ = State::usual;
  exchange_.set_active(false);
  if (failed_ && !next_) exchange_.answer(*failed_);
}

}  // namespace noised::daemon
