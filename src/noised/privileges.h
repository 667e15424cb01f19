// SPDX-License-Identifier: Apache-2.0
// Giving up what is not needed any more once the programs are attached.
#pragma once

#include "base/result.h"

namespace noised::daemon {

/// Lets this process lock as much memory as it likes without a capability.
Status unlimit_locked_memory();
/// Makes this thread, and those that it creates, real-time ones of this priority (SCHED_FIFO); 0: ordinary ones again,
/// which always succeeds, and from then on threads that it creates are ordinary ones with nice 0.
Status set_priority(int priority);
/// Makes this thread alone a real-time one of this priority, 0: an ordinary one; those that it creates are ordinary
/// ones. Once allow_realtime() has succeeded, no capability is needed.
Status set_drain_priority(int priority);
/// Lets this process have real-time priorities up to this one without a capability.
Status allow_realtime(int priority);
/// This thread's share of a CPU that others want, too: -20 (most) to 0 (see setpriority(2)).
Status set_nice(int nice);

/// Gives up every capability, for good, and every system call that a measuring daemon has no use for (seccomp: refused
/// with EPERM; among them execve, ptrace, mount, and bpf(2) but for reading statistics). For this thread and those that
/// it creates from now on, so to be called before any other runs.
Status drop_privileges();

}  // namespace noised::daemon
