// SPDX-License-Identifier: Apache-2.0
// How often the scheduler took the CPU from the loop, as the scheduler itself counts.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace noised {

/// Involuntary context switches of a thread of this process since it was created, from outside (/proc, a file read);
/// nothing if it is gone.
std::optional<std::uint64_t> involuntary_switches(pid_t thread);
/// The same for the calling thread, by getrusage.
std::uint64_t own_involuntary_switches();

}  // namespace noised
