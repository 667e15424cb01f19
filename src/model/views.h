// SPDX-License-Identifier: Apache-2.0
// What the daemon shows besides the report: single detours, histograms and its own state, as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/report.h"

namespace noised {

/// One part of a detour: an interval's self time, or time outside every interval (kinds hypervisor, hardware,
/// unexplained).
struct DetourEntryView {
  std::string kind;
  std::string name;
  std::uint64_t self_ns = 0;
  unsigned depth = 0;
  std::vector<std::pair<std::string, std::string>> detail;  ///< "pid" -> "1234", "split" -> "true"; often empty
};

/// One detour: the self times of its entries and overhead_ns sum to duration_ns.
struct DetourView {
  unsigned cpu = 0;
  std::uint64_t start_ns = 0;  ///< CLOCK_MONOTONIC
  std::uint64_t duration_ns = 0;
  bool incomplete = false;
  std::uint32_t pid = 0;                 ///< of the task that lost this time, where tasks are watched; 0: a loop did
  std::string task;                      ///< its name
  std::string loss;                      ///< how: "interrupted", "preempted" or "queued" (after a wakeup)
  std::vector<DetourEntryView> entries;  ///< in order of their start
  std::uint64_t overhead_ns = 0;
};

/// One bucket of a histogram: durations from low_ns to high_ns, both included.
struct HistogramBucketView {
  std::uint64_t low_ns = 0;
  std::uint64_t high_ns = 0;
  std::uint64_t count = 0;
};

/// The durations of all detours of a CPU (kind and name empty) or of one source there.
struct HistogramSeriesView {
  unsigned cpu = 0;
  std::string category;
  std::string kind;
  std::string name;
  std::uint64_t count = 0;
  std::vector<HistogramBucketView> buckets;  ///< only those with a count, rising
};

struct HistogramView {
  double relative_error = 0;  ///< widest bucket over its lower bound; 1/64
  std::vector<HistogramSeriesView> series;
};

/// A BPF program, and how it is attached.
struct ProgramView {
  std::string name;          ///< tracepoint, "local_timer_entry"
  std::string kind;          ///< kind of the sources it feeds
  std::string attached;      ///< "tp_btf", "raw_tp", or empty: not attached
  std::uint64_t missed = 0;  ///< runs the kernel refused
  std::uint64_t runs = 0;    ///< 0 unless the kernel keeps statistics (sysctl kernel.bpf_stats_enabled)
  std::uint64_t run_ns = 0;
};

/// Loops that step aside for tasks, and how soon after a task could have run they were elsewhere, of those that came
/// back.
struct AsideView {
  std::string cpus;  ///< CPU list of those aside now; empty: none
  std::uint64_t count = 0;
  std::uint64_t p50_ns = 0;
  std::uint64_t p99_ns = 0;
  std::uint64_t max_ns = 0;
  bool operator==(const AsideView&) const = default;
};

/// What entering and leaving the kernel can cost, as loops have learned it from the gaps of their own detours.
struct OverheadBoundView {
  std::string place;           ///< of the gap: "before" the first interval of a detour, "between" two, "after" the last
  std::string kind;            ///< of the interval behind it; of the last one where there is none
  std::uint64_t cpus = 0;      ///< that have learned it
  std::uint64_t least_ns = 0;  ///< of their bounds: a longer gap is not all overhead,
  std::uint64_t most_ns = 0;   ///< and the largest
  std::uint64_t samples = 0;   ///< gaps learned from; those of before count for half as much every 15 s
};

/// Where the thread that drains comes before real-time tasks.
struct RealtimeView {
  std::int64_t priority = 0;         ///< of SCHED_FIFO
  std::uint64_t budget_percent = 0;  ///< of the time, in which it has that
  bool operator==(const RealtimeView&) const = default;
};

/// What a timer's interrupt costs a task beside what its events tell, where tasks are watched and no loop measures.
struct EntryCostView {
  std::string state;            ///< "measuring"; then "known", or "unknown" where no CPU was free enough to measure it
  std::uint64_t before_ns = 0;  ///< its first event, at least; 0 unless known
  std::uint64_t after_ns = 0;   ///< its last event, at least; 0 unless known
  bool operator==(const EntryCostView&) const = default;
};

struct StatusView {
  std::string version;
  std::string host;
  std::string kernel;
  std::uint64_t pid = 0;
  std::uint64_t uptime_ns = 0;
  std::string probe_cpus;          ///< CPU list
  std::string watched_cpus;        ///< likewise, of those whose tasks are watched
  std::string housekeeping_cpus;   ///< CPU list
  std::string mode = "probe";      ///< "probe", "watch" or "auto"
  std::optional<AsideView> aside;  ///< in mode auto
  std::string policy;              ///< "other" or "fifo"
  unsigned duty_percent = 100;     ///< share of the time in which the loop runs
  std::uint64_t threshold_ns = 0;
  std::uint64_t buffer_bytes = 0;  ///< of one CPU's ring buffer
  std::uint64_t drain_interval_ns = 0;
  std::optional<std::int64_t> nice;   ///< of the thread that drains
  std::optional<std::string> detail;  ///< "normal", or "full": callbacks tell their ends
  std::optional<RealtimeView> realtime;
  std::optional<EntryCostView> entry_cost;
  ReportClock clock;
  ReportLost lost;
  std::uint64_t orphan_intervals = 0;  ///< intervals outside every detour
  std::vector<ProgramView> programs;
  std::vector<std::string> unsupported;
  std::vector<OverheadBoundView> overhead_bounds;  ///< by place, then kind; empty in a replay
};

}  // namespace noised
