// SPDX-License-Identifier: Apache-2.0
// What was taken from tasks while they were runnable, as plain values: the fields of noised.watch/1.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <noised/report.h>
#include <noised/views.h>

namespace noised {

/// How often and how long tasks ran and waited. Switches, waits and faults are the kernel's own counts (its
/// /proc/PID/status, schedstat and getrusage).
struct WatchCounts {
  std::uint64_t runs = 0;            ///< times switched in
  std::uint64_t voluntary = 0;       ///< switched out to wait for something
  std::uint64_t involuntary = 0;     ///< switched out while they could have run on
  std::uint64_t migrations = 0;      ///< runs on another CPU than the one before
  std::uint64_t minor_faults = 0;    ///< page faults
  std::uint64_t major_faults = 0;    ///< those that waited for a device
  std::uint64_t run_ns = 0;          ///< had a CPU, interruptions included
  std::uint64_t preempted_ns = 0;    ///< runnable without one, after an involuntary switch
  std::uint64_t queued_ns = 0;       ///< runnable without one, after a wakeup
  std::uint64_t max_wait_ns = 0;     ///< the longest of either
  std::uint64_t unseen_runs = 0;     ///< that the kernel counted, and no record told of: lost, or on a CPU not watched
  std::uint64_t unseen_wait_ns = 0;  ///< waits before those; in none of the above
};

/// One task (thread).
struct WatchTask {
  std::uint32_t pid = 0;   ///< of the thread
  std::uint32_t tgid = 0;  ///< of its process
  std::string name;
  bool ended = false;
  WatchCounts counts;
  std::uint64_t stolen_ns = 0;      ///< preempted_ns + queued_ns + interruptions while it had a CPU
  std::uint64_t interruptions = 0;  ///< detours: waits, and interruptions while it had a CPU
  std::vector<std::pair<std::string, std::uint64_t>> categories;  ///< of stolen_ns, each once, falling; sums to it
};

/// Everything watched since the watching began; the sum of explained_ns, overhead_ns, hypervisor_ns, hardware_ns and
/// unexplained_ns is stolen_ns.
struct WatchReport {
  std::string selection;  ///< "pid 12, 13", "comm lmp", "cgroup /slurm/job_7", "all"
  bool final = false;     ///< nothing will follow: the tasks have ended, or the time is over
  std::uint64_t elapsed_ns = 0;
  std::string cpus;               ///< CPU list of the CPUs watched
  std::uint64_t tasks_seen = 0;   ///< that ran at least once
  WatchCounts counts;             ///< of all of them
  std::uint64_t runnable_ns = 0;  ///< run_ns + preempted_ns + queued_ns
  std::uint64_t interruptions = 0;
  std::uint64_t incomplete = 0;  ///< interruptions that a loss touched
  std::uint64_t stolen_ns = 0;
  std::uint64_t max_interruption_ns = 0;
  std::uint64_t explained_ns = 0;
  std::uint64_t overhead_ns = 0;
  std::uint64_t hypervisor_ns = 0;
  std::uint64_t hardware_ns = 0;
  std::uint64_t unexplained_ns = 0;
  std::vector<ReportSource> sources;            ///< their `cpu` means nothing; by total time, falling
  std::vector<ReportCombination> combinations;  ///< by total time, falling
  std::vector<HistogramBucketView> runs;        ///< how long a task ran until it was switched out
  std::vector<HistogramBucketView> waits;       ///< how long it waited while it was runnable
  std::vector<WatchTask> tasks;                 ///< by stolen_ns, falling; the first 256 of tasks_seen
  ReportLost lost;                              ///< of the daemon, meanwhile
  std::vector<std::string> unsupported;
};

}  // namespace noised
