// SPDX-License-Identifier: Apache-2.0
// The kernel's own counts of what happened on a CPU.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace noised::live {

/// One CPU's column of /proc/interrupts and /proc/softirqs. Device irqs are keyed by the last word of their line (the
/// action), the others by their label ("LOC").
struct KernelCounters {
  std::map<std::string, std::uint64_t> interrupts;
  std::map<std::string, std::uint64_t> softirqs;
};

KernelCounters read_kernel_counters(unsigned cpu);

}  // namespace noised::live
