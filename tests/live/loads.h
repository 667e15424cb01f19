// SPDX-License-Identifier: Apache-2.0
// Things that provoke kernel activity on a CPU. Each runs until its time is over.
#pragma once

#include <cstdint>

namespace noised::live {

/// Writes and syncs a file: block device interrupts, and BLOCK softirqs.
void write_to_disk(std::uint64_t milliseconds);

/// Sends datagrams over loopback from a thread on `cpu` at a gentle rate: NET_RX softirqs there.
void talk_over_loopback(unsigned cpu, std::uint64_t milliseconds);

/// Maps, touches and unmaps memory on another CPU while a thread of this process runs on the probed one (the loop):
/// TLB shootdowns by call_function interrupts.
void unmap_shared_memory(std::uint64_t milliseconds);

/// Arms timers from a thread on `cpu`: hrtimer interrupts.
void sleep_on(unsigned cpu, std::uint64_t milliseconds);

/// Wakes a sleeping thread on `cpu` from elsewhere: reschedule or single function call interrupts.
void wake_on(unsigned cpu, std::uint64_t milliseconds);

}  // namespace noised::live
