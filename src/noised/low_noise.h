// SPDX-License-Identifier: Apache-2.0
// Keeping this process from disturbing its own probe threads, with which it shares an address space.
#pragma once

#include "base/result.h"

#include <vector>

namespace noised::daemon {

/// Makes malloc keep what it has and use one heap: giving memory back (munmap, madvise, a shrinking heap) would
/// interrupt every CPU that runs a thread of this process, to flush its TLB. Nor does the kernel join its pages to huge
/// ones: while khugepaged copies those that the loop writes to, the loop faults and sleeps for the mapping's lock, 3 ms
/// where the machine is emulated. To be called before the first thread.
void keep_heap();

/// Gives back what start-up left over, while no probe runs yet.
void trim_heap();

/// Locks all memory, as it is touched: a page fault in the loop would be noise of our own. `future`: also what will be
/// mapped later, which then fails where it exceeds RLIMIT_MEMLOCK.
Status lock_memory(bool future);

/// Confines this thread, and those that it creates from now on, to these CPUs.
Status confine_to(const std::vector<unsigned>& cpus);

}  // namespace noised::daemon
