// SPDX-License-Identifier: Apache-2.0
// One run of the victim, from settling on its CPU to its account.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"

#include "system/clock.h"
#include "victim/account.h"

namespace noised::victim {

using namespace noised::system;

struct VictimOptions {
  unsigned cpu = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t threshold_ns = 0;
  std::uint64_t sleep_ns = 0;           ///< how long it sleeps again and again; 0: it does not
  std::uint64_t faults_per_second = 0;  ///< page faults
};

/// Runs the calling thread, which stays on the CPU. `ready` is called when all is prepared, just before.
Result<Account> measure(const VictimOptions& options, const std::function<Status()>& ready,
                        const volatile std::sig_atomic_t& stop);

/// A map of the two clocks by the narrowest sample of each stretch of this many ticks: more than a ClockMap remembers
/// would bend the oldest.
ClockMap map_of(std::span<const ClockSample> samples, std::uint64_t stretch_ticks);

}  // namespace noised::victim
