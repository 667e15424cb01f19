// SPDX-License-Identifier: Apache-2.0
// Loops of another noised, which would measure ours, as ours would theirs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace noised::daemon {

struct OtherLoop {
  unsigned cpu = 0;
  std::uint32_t process = 0;
};

/// Loops on these CPUs by other processes that are called noised, by the names of their threads; by CPU, rising. Reads
/// the stat file of each process of the machine once (7 us each).
std::vector<OtherLoop> other_loops(const std::vector<unsigned>& cpus, const std::string& proc = "/proc");

}  // namespace noised::daemon
