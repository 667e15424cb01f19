// SPDX-License-Identifier: Apache-2.0
// What was taken from tasks while they were runnable, as plain values: the fields of noised.watch/1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/ledger.h"
#include "model/report.h"
#include "model/views.h"

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
  std::uint64_t yields = 0;          ///< of the involuntary switches, those by its own sched_yield
  std::uint64_t yielded_ns = 0;      ///< runnable without a CPU, for it had given it away then; in none of the above
};

/// One task (thread).
struct WatchTask {
  std::uint32_t pid = 0;   ///< of the thread
  std::uint32_t tgid = 0;  ///< of its process
  std::string name;
  bool ended = false;
  WatchCounts counts;
  std::uint64_t stolen_ns = 0;      ///< waits for a CPU by our clock, and interruptions while it had one
  std::uint64_t interruptions = 0;  ///< detours: waits, and interruptions while it had a CPU
  std::vector<std::pair<std::string, std::uint64_t>> categories;  ///< of stolen_ns, each once, falling; sums to it
  std::optional<std::uint32_t> rank = std::nullopt;  ///< of its process in a parallel job, where noisectl found one
  std::string job = {};                              ///< the job as its launcher calls it; empty: not known
};

/// The tasks of one rank of a parallel job, of those in the report.
struct WatchRank {
  std::uint32_t rank = 0;
  std::string job;
  std::uint64_t processes = 0;
  std::uint64_t tasks = 0;        ///< threads of these processes
  std::uint64_t runnable_ns = 0;  ///< their sums, as all below
  std::uint64_t stolen_ns = 0;
  std::uint64_t interruptions = 0;
  std::vector<std::pair<std::string, std::uint64_t>> categories;  ///< of stolen_ns, each once, falling; sums to it
};

/// What one source took from phases of one name.
struct MarkedSource {
  std::string category;
  std::string kind;
  std::string name;
  std::uint64_t total_ns = 0;
  std::uint64_t phases = 0;      ///< in which it took something
  std::uint64_t late_ns = 0;     ///< of total_ns, what it took from the late ones,
  std::uint64_t typical_ns = 0;  ///< and from the typical ones
};

/// Some phases of a name: their own time is total_ns - stolen_ns.
struct PhaseGroup {
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t stolen_ns = 0;
};

/// One phase, and what it lost.
struct LongPhase {
  std::uint32_t pid = 0;  ///< of the thread
  std::uint64_t start_ns = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t stolen_ns = 0;
  bool incomplete = false;
  std::vector<std::pair<std::string, std::uint64_t>> sources;  ///< "task:crond" and its time, falling; of stolen_ns
};

/// What a job of so many of these threads pays, if they all wait for the slowest of them after each phase.
struct PhaseCost {
  std::uint64_t ranks = 0;
  double delayed = 0;              ///< the noise law's 1 - (1 - p)^n, of the p of the first of the delays
  std::optional<double> slowdown;  ///< mean of the longest of so many phases by their mean own time; nothing: seen too
                                   ///< few phases to tell, as the next two
  std::optional<double> low;       ///< of its 95% interval
  std::optional<double> high;
};

/// How many phases are delayed by more than a part of their own time, and their share, the p of the noise law.
struct MarkedDelay {
  double of_own = 0;
  std::uint64_t phases = 0;
  double p = 0;
  double low = 0;  ///< of its 95% interval, which takes phases for independent of each other
  double high = 0;
};

/// The phases of one name that the application marked (noised/mark.h).
struct MarkedPhase {
  std::string name;
  std::uint64_t threads = 0;
  std::uint64_t incomplete = 0;  ///< phases that a loss of events touched
  std::uint64_t min_ns = 0;
  std::uint64_t mean_ns = 0;
  std::uint64_t median_ns = 0;  ///< the upper bound of its bucket
  std::uint64_t max_ns = 0;
  PhaseGroup all;
  PhaseGroup late;                    ///< the slowest 1%, by buckets of durations; at least those of the slowest bucket
  PhaseGroup typical;                 ///< the fastest half, likewise
  std::uint64_t delayed = 0;          ///< phases from which something was taken, however little
  std::vector<MarkedDelay> delays;    ///< by of_own, rising
  std::vector<MarkedSource> sources;  ///< by total_ns, falling; they sum to the stolen time
  std::vector<LongPhase> longest;     ///< the first ten
  std::vector<PhaseCost> costs;       ///< by ranks, rising
};

/// What is missing of marks and of their phases.
struct MarkLosses {
  std::uint64_t marks = 0;      ///< overwritten before they were read
  std::uint64_t unpaired = 0;   ///< begins without end, and ends without begin
  std::uint64_t unsettled = 0;  ///< phases that ended when it was not known yet what they lost
  std::uint64_t early = 0;      ///< phases that began before the watching did
  std::uint64_t unwatched = 0;  ///< phases of threads that are not watched
  std::uint64_t files = 0;      ///< that could not be read
  std::uint64_t losses = 0;     ///< of tasks, which the daemon had no room for, or told too late
};

/// What the host took of the watched CPUs while the tasks had them, by their share of each CPU's time: nothing tells
/// whose time it was. The kernel counts it in steps, for each CPU.
struct HostSteal {
  std::uint64_t ns = 0;
  std::uint64_t step_ns = 0;
};

/// What interruptions took beside what is told of them: the ways into the kernel and out of it are in no event, so that
/// each is told as long as it was at least.
struct WatchUntold {
  std::uint64_t interrupted = 0;   ///< interruptions while a task had a CPU
  std::uint64_t estimated = 0;     ///< of them, those by the timer; of the others the rest is not known
  std::uint64_t rest_ns = 0;       ///< of these, if each had taken the mean of those measured at the start,
  std::uint64_t rest_most_ns = 0;  ///< and if each had taken as long as the longest of them
  std::uint64_t measured = 0;      ///< so many were
};

/// Everything watched since the watching began; the five parts of its ledger sum to stolen_ns.
struct WatchReport : Ledger {
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
  std::optional<HostSteal> steal;               ///< beside stolen_ns; nothing: no steal time is counted here
  std::optional<WatchUntold> untold;            ///< beside stolen_ns; nothing: a recording does not tell it
  std::vector<ReportSource> sources;            ///< their `cpu` means nothing; by total time, falling
  std::vector<ReportCombination> combinations;  ///< by total time, falling
  std::vector<HistogramBucketView> runs;        ///< how long a task ran until it was switched out
  std::vector<HistogramBucketView> waits;       ///< how long it waited while it was runnable
  std::vector<WatchTask> tasks;                 ///< by stolen_ns, falling; the first 256 of tasks_seen
  std::vector<WatchRank> ranks;                 ///< by stolen_ns, falling; noisectl's: the daemon tells none
  std::uint64_t rank_unknown = 0;               ///< processes in `tasks` whose environment noisectl could not read
  ReportLost lost;                              ///< of the daemon, meanwhile
  std::vector<std::string> unsupported;
  std::optional<MarkLosses> marks;  ///< nothing: no marks were asked for
  std::vector<MarkedPhase> phases;  ///< by the time of all of them, falling; only with marks
};

}  // namespace noised
