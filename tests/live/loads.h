// SPDX-License-Identifier: Apache-2.0
// Things that provoke kernel activity on a CPU. Each runs until its time is over.
#pragma once

#include <cstdint>
#include <string>
#include <thread>

namespace noised::live {

/// Writes and syncs a file: block device interrupts, and BLOCK softirqs.
void write_to_disk(std::uint64_t milliseconds);

/// Sends datagrams over loopback from a thread on `cpu` at a gentle rate: NET_RX softirqs there.
void talk_over_loopback(unsigned cpu, std::uint64_t milliseconds);

/// Maps, touches and unmaps memory on another CPU while a thread of this process runs on the probed one (the loop):
/// TLB shootdowns by call_function interrupts. Returns how often it unmapped.
std::uint64_t unmap_shared_memory(std::uint64_t milliseconds);

/// Arms timers from a thread on `cpu`, one after the other: hrtimer interrupts. Returns how many went off.
std::uint64_t sleep_on(unsigned cpu, std::uint64_t milliseconds);
/// The same for as long as the thread is kept: something happens even on a nohz_full CPU, however long a daemon starts.
std::jthread keep_sleeping_on(unsigned cpu);

/// A daemon: a thread of this name on `cpu` that sleeps for a period, and then works for a while, as long as it is
/// kept.
std::jthread keep_working_on(unsigned cpu, const std::string& name, std::uint64_t period_ns, std::uint64_t work_ns);

/// Wakes a sleeping thread on `cpu` from elsewhere: reschedule or single function call interrupts.
void wake_on(unsigned cpu, std::uint64_t milliseconds);

/// What a thread counted of its own faults; others may have come while it began and ended.
struct Faults {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

/// Reads fresh pages from a thread on `cpu`, as many as it can: the kernel's cheapest event that a program can provoke.
Faults fault_pages(unsigned cpu, std::uint64_t milliseconds);

}  // namespace noised::live
