// SPDX-License-Identifier: Apache-2.0
// The kernel's own counts of what happened on a CPU.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace noised::live {

/// One CPU's column of /proc/interrupts and /proc/softirqs.
struct KernelCounters {
  std::map<std::string, std::uint64_t> interrupts;  ///< by label: "LOC"
  std::map<std::string, std::uint64_t> devices;     ///< by the last word of their row, the action: "virtio1-req.0"
  std::map<std::string, std::uint64_t> softirqs;
};

KernelCounters read_kernel_counters(unsigned cpu);

}  // namespace noised::live
