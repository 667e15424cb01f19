// SPDX-License-Identifier: Apache-2.0
// Whether BPF ring buffers may be used on this kernel.
#pragma once

#include <noised/result.h>

#include <string_view>

namespace noised {

/// On PREEMPT_RT before 6.6.83 and 6.11.5 the ring buffer takes a lock that sleeps, also where nothing may sleep
/// (CVE-2024-50138): an error there. `release` and `version` are those of uname(2); distributions that mend an older
/// kernel cannot be told apart, so there is a way to insist.
Status check_ringbuf(std::string_view release, std::string_view version);

}  // namespace noised
