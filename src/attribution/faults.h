// SPDX-License-Identifier: Apache-2.0
// One page fault from its two records: the instant that says where it struck, and the interval of its handling.
#pragma once

#include <noised/types.h>

#include <vector>

namespace noised {

/// Gives each fault the time of its handling: the instant becomes an interval from the fault to the handling's end, and
/// the record of the handling goes away. A handling without a fault just before it stays as it is: the kernel asked for
/// a page on behalf of a task (get_user_pages). `intervals` are those of one detour, sorted by start.
void join_faults(std::vector<Interval>& intervals);

}  // namespace noised
