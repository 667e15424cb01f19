// SPDX-License-Identifier: Apache-2.0
// From the loop to phases and back, on the probe's own thread.
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "probe/probe.h"

namespace noised {
namespace {

constexpr int kChangeLimitMs = 20'000;
constexpr useconds_t kLookUs = 1'000;

Status set_policy(bool fifo, int priority) {
  int now = 0;
  sched_param parameter{};
  if (pthread_getschedparam(pthread_self(), &now, &parameter) == 0 && (now == SCHED_FIFO) == fifo &&
      (!fifo || parameter.sched_priority == priority)) {
    return success();
  }
  parameter.sched_priority = fifo ? priority : 0;
  const int code = pthread_setschedparam(pthread_self(), fifo ? SCHED_FIFO : SCHED_OTHER, &parameter);
  if (code == 0) return success();
  return failure(fmt::format("policy {}: {}", fifo ? "fifo" : "other", std::strerror(code)),
                 "the daemon has given up the right to choose it: start it with that policy, or with a limit of "
                 "real-time priority (LimitRTPRIO=99 in its unit, ulimit -r)");
}

}  // namespace

void Probe::change(const ProbeChange& to) {
  change_ = to;
  change_state_.store(ChangeState::working, std::memory_order_release);
  stop_.store(true);
}

Status Probe::wait_for_change() const {
  for (int waited_ms = 0; waited_ms < kChangeLimitMs; ++waited_ms) {
    const ChangeState state = change_state();
    if (state == ChangeState::failed) return change_error_;
    if (state == ChangeState::done || state == ChangeState::none) return success();
    usleep(kLookUs);
  }
  return failure(
      fmt::format("CPU {} did not find out within {} s how long its phases take", options_.cpu, kChangeLimitMs / 1000),
      "something with a higher priority holds the CPU; try --policy fifo, or another CPU");
}

// All of it, or nothing.
Status Probe::prepare_change() {
  int policy = 0;
  sched_param parameter{};
  (void)pthread_getschedparam(pthread_self(), &policy, &parameter);
  if (Status set = set_policy(change_.fifo, change_.priority); !set) return set;
  Footprint footprint;
  if (change_.phases.grain_ticks != 0) {
    auto created = Footprint::create(change_.phases.footprint_bytes);
    if (!created) {
      (void)pthread_setschedparam(pthread_self(), policy, &parameter);
      return created.error();
    }
    footprint = std::move(created).value();
  }
  footprint_ = std::move(footprint);
  return success();
}

// Nobody watches meanwhile.
void Probe::change_over() {
  stop_.store(false);
  if (ending_.load()) stop_.store(true);  // it was said in between
  progress_.gap = GapKind::rested;
  if (change_state_.load(std::memory_order_acquire) != ChangeState::working) return;
  const auto smi_before = smi_.read();
  if (Status prepared = prepare_change(); !prepared) {
    change_error_ = prepared.error();
    change_state_.store(ChangeState::failed, std::memory_order_release);
    return;
  }
  work_ = {0, footprint_.lines()};
  change_state_.store(ChangeState::ready, std::memory_order_release);
  if (change_.phases.grain_ticks != 0) {
    footprint_.link();
    fitted_ = fit_phases(change_.phases, footprint_.lines(), loop_options(), stop_, [this] { return return_to_cpu(); });
    fitted_.locked = footprint_.is_locked();
    work_.iterations = fitted_.iterations;
  }
  const auto smi_after = smi_.read();
  if (smi_before && smi_after && progress_.seen_ticks != 0) smi_unobserved_ += *smi_after - *smi_before;
  change_state_.store(ChangeState::done, std::memory_order_release);
}

}  // namespace noised
