// SPDX-License-Identifier: Apache-2.0
// What the kernel and the host count by themselves, beside which the daemon's own figures are held.
#include <algorithm>

#include "base/cpus.h"
#include "noised/daemon.h"

namespace noised::daemon {
namespace {

// The host gives a CPU to somebody else for longer than this: each such time is a detour.
constexpr std::uint64_t kFinestThresholdNs = 2'000;

}  // namespace

// A nohz_full CPU accounts its time where tasks enter and leave the kernel, and reads what was stolen there too.
std::optional<std::string> Daemon::why_steal_is_unproven() const {
  if (options_.config.threshold_ns > kFinestThresholdNs)
    return "with this threshold the host takes more than detours show";
  const auto tickless = nohz_full_cpus();
  const auto is_tickless = [&](unsigned cpu) {
    return std::ranges::find(tickless.value(), cpu) != tickless.value().end();
  };
  if (tickless && std::ranges::any_of(cpus_.probe, is_tickless))
    return "nohz_full CPUs read steal time elsewhere than in ticks";
  return std::nullopt;
}

Status Daemon::start_steal_clock() {
  if (!is_virtual_) return success();
  if (steps_aside()) {
    run_.unsupported.emplace_back(
        "steal of watched tasks: it cannot be told from what was stolen from the loops that step aside for them");
  }
  auto clock = system::StealClock::open();
  if (!clock) return clock.error();
  if (clock.value().counts()) {
    steal_clock_.emplace(std::move(clock).value());
    if (const auto reason = has_loops() ? why_steal_is_unproven() : std::nullopt)
      run_.unsupported.push_back("stolen_by_host_ns: nothing is proven: " + *reason);
  } else {
    run_.unsupported.emplace_back(
        "steal time: none was counted here since boot, so what part of its time the hypervisor gave to others is not "
        "known");
  }
  return success();
}

// What the loops' CPUs are compared with, to know that none is blind.
void Daemon::start_interrupt_counts() {
  if (!has_loops()) return;
  auto counts = system::InterruptCounts::open(system::seen_rows(*tracer_));
  if (!counts) {
    run_.unsupported.push_back("blind CPUs: the kernel's own counts cannot be read: " + counts.error().what);
    return;
  }
  interrupts_.emplace(std::move(counts).value());
  if (rests()) {
    run_.unsupported.emplace_back(
        "blind CPUs: the kernel's own counts cannot be compared over rests (duty_cycle) and while a loop is aside");
  }
}

}  // namespace noised::daemon
