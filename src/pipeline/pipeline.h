// SPDX-License-Identifier: Apache-2.0
// The pipeline: drains both streams of every watched CPU, joins them, and keeps account of what was lost.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "account/blindness.h"
#include "account/detour_feed.h"
#include "account/loop_cpu.h"
#include "account/sink.h"
#include "account/snapshot.h"
#include "base/clocks.h"
#include "pipeline/chains.h"
#include "pipeline/cpu_stream.h"
#include "pipeline/name_owners.h"
#include "pipeline/public_names.h"
#include "pipeline/steal_counts.h"
#include "pipeline/task_pipeline.h"
#include "probe/measuring_loop.h"
#include "system/clock.h"
#include "system/interrupt_counts.h"
#include "system/kernel_events.h"
#include "system/names.h"
#include "system/services.h"
#include "system/steal_clock.h"

namespace noised::pipeline {

/// The two clocks; tests have others.
struct PipelineClocks {
  std::function<std::uint64_t()> now_ns = monotonic_ns;
  std::function<system::ClockSample()> sample = system::read_clock_sample;
};

struct PipelineOptions {
  std::uint64_t threshold_ns = 0;
  Kind outside = Kind::hypervisor;  ///< what a gap without kernel activity is here: hypervisor or hardware
  bool proves_steal = true;  ///< steal time is read by ticks, and all of it lies in detours: parts of it can be proven
  /// For what their tasks suffer: all of the tracer's CPUs, in its order, or none of them. Loops are on some of these,
  /// and step aside when a task comes; without watched CPUs, the tracer's are those of the loops.
  std::vector<unsigned> watched_cpus;
  system::StealClock* steal_clock = nullptr;      ///< if given, steal time is told, by it if need be
  system::InterruptCounts* interrupts = nullptr;  ///< if given, loops are compared with it: is a CPU blind?
  bool names_services = false;                    ///< tasks are also counted under the names that anybody may read
  bool notes_owners = false;                      ///< whose tasks have which names is noted
  std::size_t feed_size = account::DetourFeed::kStaged;  ///< detours that a drain may bring and readers see
  PipelineClocks clocks;
};

/// Runs on one thread, on housekeeping CPUs. Once every source and every combination was seen, a drain does not
/// allocate; it makes a system call per BPF program that can miss runs, two a second (steal time) where ticks do not
/// tell it, some a second for names (one for each 4 KiB of /proc/modules, three for each of up to 32 interrupts), and
/// one for each 4 KiB of /proc/interrupts every two seconds. When modules come or go, it reads all symbols again
/// (system/kallsyms.cpp).
class Pipeline : public account::Recordable {
 public:
  /// `clock` has at least two samples. All of them outlive the pipeline.
  Pipeline(system::KernelEvents& kernel, std::span<probe::MeasuringLoop* const> loops, system::ClockMap& clock,
           SourceTable& sources, system::Names& names, const PipelineOptions& options);

  /// Everything that came since the last drain: detour rings first, then interval rings, so that every cause of a
  /// detour is there (design.md, decision 4), then the rings of origins, so that every origin of an interval is.
  void drain();
  /// Of what holds events between drains, the share of its room that the fullest had taken at the last one.
  [[nodiscard]] double take_fullness();
  /// The last drain, after the probes have ended.
  void finish();

  /// The next drain looks at steal time, however recently it did: a report of tasks will tell it.
  void want_steal() { steal_.want(); }

  /// The next drain asks the kernel what it counted, however recently that was, and the one after it judges whether a
  /// CPU is blind. To be called before the loops end: what comes after them is not theirs to see. Some system calls.
  void want_sight() { sight_wanted_ = true; }

  /// The kernel has gone over to another clock source: what it and the loops say belongs together less exactly, if at
  /// all.
  void note_clock_source() { ++clock_sources_; }

  /// What the drain interval is meant to be, for snapshots.
  void set_drain_interval(std::uint64_t ns) { drain_interval_ns_ = ns; }

  /// Has snapshots tell of loops that step aside, as this says when it is asked.
  void tell_aside(std::function<AsideView()> aside) { aside_ = std::move(aside); }

  void fill(account::Snapshot& snapshot) const override;
  void record_to(account::PipelineSink* sink) override;
  [[nodiscard]] account::DetourFeed& feed() { return feed_; }
  [[nodiscard]] account::SnapshotExchange& snapshots() { return snapshots_; }
  /// What the public names that were counted stand for; null where tasks are not counted under them.
  [[nodiscard]] const SourceTable* public_names() const { return public_names_ ? &public_names_->table() : nullptr; }
  /// Null where that is not noted.
  [[nodiscard]] NameOwners* name_owners() { return name_owners_.get(); }
  /// Null where no CPU is watched for its tasks.
  [[nodiscard]] TaskPipeline* tasks() { return tasks_.get(); }

 private:
  // Never copied, never moved: a copy of `popped` has no capacity, and a ring is popped only as far as that goes.
  struct Stream : CpuStream {
    Stream(const StreamParts& parts, std::size_t at, probe::MeasuringLoop& of, const account::WatchOptions& options,
           const SourceTable& sources, std::uint64_t now_ns);

    std::size_t place;  // of its CPU, as the tracer has it
    probe::MeasuringLoop& loop;
    account::LoopCpu watched;
    account::BlindnessCheck blindness;
    std::uint64_t interrupts = 0;           // records of those that the kernel counts too
    std::uint64_t gap_end_ns = 0;           // of the last time that was not observed
    std::vector<std::uint64_t> left;        // when tasks took the CPU, and what the loop sees then is theirs; rising
    bool aside = false;                     // they have it
    std::vector<probe::TickDetour> popped;  // of this drain, as the next
    std::vector<account::StealWindow> stolen;
    std::uint64_t first_ns = 0;
    std::uint64_t last_ticks = 0;  // the loop's, when this drain began, as the next
    std::uint64_t storing_ticks = 0;
    std::uint64_t observed_ns = 0;
    std::uint64_t blind_ns = 0;
    std::uint64_t absent_ns = 0;  // of it, from the start on, where the CPU was offline then
  };

  void take(Stream& stream, const noised_record& record, const char* comm) const;
  void take_either(Stream& stream, const noised_record& record, const char* comm, const noised_run_record* run);
  bool take_left(Stream& stream, std::uint64_t end_ns, probe::GapKind kind) const;
  void read(Stream& stream);
  void read_origins();
  void read_clocks();
  bool note_losses(Stream& stream) const;
  void note_unseen_return(Stream& stream);
  void join(Stream& stream, std::uint64_t began_ns);
  void attribute(Stream& stream);
  void note_observed(Stream& stream) const;
  void add_detour(Stream& stream, const probe::TickDetour& ticks);
  void skip(Stream& stream, const Detour& blind, std::uint64_t& count) const;
  void pass_gaps(Stream& stream, std::vector<probe::TickDetour>::const_iterator& gap, std::uint64_t until_ns) const;
  void look_for_blindness(std::uint64_t now_ns);
  void turn_recent();
  void let_names_go();
  [[nodiscard]] static account::Sighted sighted(const Stream& stream);
  [[nodiscard]] std::uint64_t stuck_ns(const Stream& stream) const;
  void add_dropped_origins(ReportLost& lost) const;
  void fill_cpu(const Stream& stream, const account::Snapshot& wanted, account::CpuSnapshot& cpu) const;

  system::KernelEvents& kernel_;
  PipelineClocks clocks_;
  DrainClock drain_clock_;
  system::ClockMap& clock_;
  SourceTable& sources_;
  system::Names& names_;
  system::Services services_;
  std::unique_ptr<NameOwners> name_owners_;
  Chains chains_;
  std::unique_ptr<PublicNames> public_names_;
  StealCounts steal_;
  bool proves_steal_;
  system::InterruptCounts* interrupts_;
  std::uint32_t counted_vectors_;  // bits: records of these are in `interrupts_` too
  account::PipelineSink* sink_ = nullptr;
  account::DetourFeed feed_;
  account::SnapshotExchange snapshots_;
  std::deque<Stream> streams_;  // does not move them when it grows
  std::unique_ptr<TaskPipeline> tasks_;
  std::function<AsideView()> aside_;
  std::uint64_t started_ns_ = 0;
  std::uint64_t drained_ns_ = 0;  // when the last drain began
  Histogram drain_intervals_;
  std::uint64_t drain_intervals_ns_ = 0;
  std::uint64_t drain_interval_ns_ = 0;
  double staged_share_ = 0;
  std::uint64_t turned_ns_;         // when the slot of the last minute began that goes on
  account::RecentMarks marks_;      // of its slots
  account::Snapshot marked_;        // kept for its memory
  std::uint64_t sight_due_ns_ = 0;  // when to ask the kernel again what it counted
  bool sight_wanted_ = false;
  std::uint64_t clocked_ns_ = 0;  // when the last sample was taken
  std::uint64_t clock_steps_ = 0;
  std::uint64_t clock_sources_ = 0;
  system::MissedRuns missed_runs_;
  std::uint64_t lost_origins_ = 0;
  std::uint64_t bad_origins_ = 0;
  bool missed_ = false;           // runs that tell of intervals, since the drain before
  bool clock_stepped_ = false;    // likewise
  bool origins_missing_ = false;  // likewise: no interval of this drain can be given a cause
};

}  // namespace noised::pipeline
