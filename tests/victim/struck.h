// SPDX-License-Identifier: Apache-2.0
// What a generator did against what the victim lost, without noised; and what noised shows of it, if it was there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/views.h"

#include "selftest/truth.h"
#include "victim/account.h"

namespace noised::victim {

struct Struck {
  std::string mode;
  std::uint64_t occurrences = 0;
  std::uint64_t struck = 0;      ///< of them: while the victim has a gap
  std::uint64_t gaps = 0;        ///< these gaps, each once
  std::uint64_t gap_ns = 0;      ///< in them, whole
  std::uint64_t wall_ns = 0;     ///< activations of tasks: from first to last instruction, of those that struck
  std::uint64_t cpu_ns = 0;      ///< the same by their own CPU clock
  std::uint64_t charged_ns = 0;  ///< the same with the ways out of the sleep and into it
  std::uint64_t shown = 0;       ///< intervals of the sources that noised shows, while the noise was made
  std::uint64_t shown_ns = 0;    ///< tasks: their time
};

/// An event strikes with the first gap that it may be in; an activation of a task with all from its first to its last
/// instruction.
Struck strike(const selftest::Truth& truth, const Account& account, const std::vector<DetourView>& detours);

}  // namespace noised::victim
