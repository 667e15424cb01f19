// SPDX-License-Identifier: Apache-2.0
// From when on the tasks of a CPU are watched.
#pragma once

#include <noised/abi.h>
#include "base/result.h"

#include <vector>

namespace noised::kernel {

struct WatchedState {
  unsigned cpu = 0;
  noised_cpu* state = nullptr;
};

/// Visits each CPU once, since only there it is known that no frame of the kernel's is open, and has the BPF programs
/// record from then on. Fails where a CPU is not given to a visitor within 5 s; then nothing may
/// take its states away for as long as the process lives.
Status begin_watching(const std::vector<WatchedState>& cpus);

}  // namespace noised::kernel
