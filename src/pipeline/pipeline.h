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

#include "attribution/causes.h"
#include "base/monotonic.h"
#include "pipeline/blindness.h"
#include "pipeline/chains.h"
#include "pipeline/detour_feed.h"
#include "pipeline/losses.h"
#include "pipeline/sink.h"
#include "pipeline/snapshot.h"
#include "pipeline/task_pipeline.h"
#include "pipeline/watched_cpu.h"
#include "probe/measuring_loop.h"
#include "trace/clock.h"
#include "trace/interrupt_counts.h"
#include "trace/kernel_events.h"
#include "trace/names.h"
#include "trace/services.h"
#include "trace/steal_clock.h"

namespace noised {

/// The two clocks; tests have others.
struct PipelineClocks {
  std::function<std::uint64_t()> now_ns = monotonic_ns;
  std::function<ClockSample()> sample = read_clock_sample;
};

struct PipelineOptions {
  std::uint64_t threshold_ns = 0;
  Kind outside = Kind::hypervisor;  ///< what a gap without kernel activity is here: hypervisor or hardware
  /// For what their tasks suffer: all of the tracer's CPUs, or none of them. If there are probes as well, their loops
  /// step aside when a task comes.
  std::vector<unsigned> watched_cpus;
  StealClock* steal_clock = nullptr;      ///< if given, it is the hypervisor's only as far as steal time covers it
  InterruptCounts* interrupts = nullptr;  ///< if given, loops are compared with it: is a CPU blind?
  std::size_t feed_size = DetourFeed::kStaged;  ///< detours that a drain may bring and readers see
  PipelineClocks clocks;
};

/// Runs on one thread, on housekeeping CPUs. Once every source and every combination was seen, a drain does not
/// allocate; it makes a system call per BPF program that can miss runs, two a second (steal time),
/// and one for each 4 KiB of /proc/interrupts every two seconds.
class Pipeline : public Recordable {
 public:
  /// `clock` has at least two samples. All of them outlive the pipeline.
  Pipeline(KernelEvents& kernel, std::span<MeasuringLoop* const> loops, ClockMap& clock, SourceTable& sources,
           Names& names, const PipelineOptions& options);

  /// Everything that came since the last drain: detour rings first, then interval rings, so that every cause of a
  /// detour is there (design.md, decision 4), then the ring of origins, so that every origin of an interval is.
  void drain();
  /// Of what holds events between drains, the share of its room that the fullest had taken at the last one.
  [[nodiscard]] double take_fullness();
  /// The last drain, after the probes have ended.
  void finish();

  /// The next drain reads the steal clock, however recently it was read: a report will tell steal time. One system
  /// call.
  void want_steal() { steal_wanted_ = true; }

  /// The next drain asks the kernel what it counted, however recently that was, and the one after it judges whether a
  /// CPU is blind. To be called before the loops end: what comes after them is not theirs to see. Some system calls.
  void want_sight() { sight_wanted_ = true; }

  /// What the drain interval is meant to be, for snapshots.
  void set_drain_interval(std::uint64_t ns) { drain_interval_ns_ = ns; }

  /// Has snapshots tell of loops that step aside, as this says when it is asked.
  void tell_aside(std::function<AsideView()> aside) { aside_ = std::move(aside); }

  void fill(Snapshot& snapshot) const override;
  void record_to(PipelineSink* sink) override;
  [[nodiscard]] DetourFeed& feed() { return feed_; }
  [[nodiscard]] SnapshotExchange& snapshots() { return snapshots_; }
  /// Null where no CPU is watched for its tasks.
  [[nodiscard]] TaskPipeline* tasks() { return tasks_.get(); }

 private:
  // Never copied, never moved: a copy of `popped` has no capacity, and a ring is popped only as far as that goes.
  struct Stream {
    Stream(std::size_t place, MeasuringLoop& of, const WatchOptions& options, const SourceTable& sources,
           std::uint64_t now_ns);
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    std::size_t index;
    MeasuringLoop& loop;
    WatchedCpu watched;
    CauseMatcher causes;
    DoubtfulTimes doubt;
    LossCounts losses;  // at the last drain
    BlindnessCheck blindness;
    std::uint64_t interrupts = 0;     // records of those that the kernel counts too
    std::uint64_t gap_end_ns = 0;     // of the last time that was not observed
    std::vector<std::uint64_t> left;  // when tasks took the CPU, and what the loop sees then is theirs; rising
    bool aside = false;               // they have it
    std::vector<TickDetour> popped;   // of this drain, as the next
    std::vector<Interval> intervals;  // in the order in which they ended
    std::uint64_t bad_records = 0;    // of this drain
    std::uint64_t first_ns = 0;
    std::uint64_t last_ticks = 0;  // the loop's, when this drain began, as the next
    std::uint64_t storing_ticks = 0;
    std::uint64_t observed_ns = 0;
    std::uint64_t blind_ns = 0;
    std::uint64_t stolen_ns = 0;  // the steal clock at the last look
  };

  std::uint64_t latest_ns(std::uint64_t end_ns);
  void take(Stream& stream, const noised_record& record, const char* comm);
  void take_either(Stream& stream, const noised_record& record, const char* comm, const noised_run_record* run);
  bool take_left(Stream& stream, std::uint64_t end_ns, GapKind kind) const;
  void read(std::size_t index);
  void read_origins();
  bool note_losses(Stream& stream);
  void note_unseen_return(Stream& stream);
  void join(Stream& stream, std::uint64_t began_ns);
  void attribute(Stream& stream);
  void note_observed(Stream& stream) const;
  void add_detour(Stream& stream, const TickDetour& ticks);
  void skip(Stream& stream, const Detour& blind, std::uint64_t& count) const;
  void pass_gaps(Stream& stream, std::vector<TickDetour>::const_iterator& gap, std::uint64_t until_ns) const;
  void look_at_steal(std::uint64_t now_ns);
  void look_for_blindness(std::uint64_t now_ns);
  [[nodiscard]] static Sighted sighted(const Stream& stream);
  void fill_cpu(const Stream& stream, SnapshotDetail detail, CpuSnapshot& cpu) const;

  KernelEvents& kernel_;
  PipelineClocks clocks_;
  ClockMap& clock_;
  SourceTable& sources_;
  Names& names_;
  Services services_;
  Chains chains_;
  StealClock* steal_clock_;
  InterruptCounts* interrupts_;
  std::uint32_t counted_vectors_;  // bits: records of these are in `interrupts_` too
  PipelineSink* sink_ = nullptr;
  DetourFeed feed_;
  SnapshotExchange snapshots_;
  std::deque<Stream> streams_;  // does not move them when it grows
  std::unique_ptr<TaskPipeline> tasks_;
  std::vector<std::uint64_t> tasks_stolen_ns_;  // the steal clock at the last look, by place
  std::vector<std::uint64_t> tasks_shared_ns_;  // and when it was last shared out
  std::function<AsideView()> aside_;
  std::uint64_t started_ns_ = 0;
  std::uint64_t drained_ns_ = 0;  // when the last drain began
  Histogram drain_intervals_;
  std::uint64_t drain_intervals_ns_ = 0;
  std::uint64_t drain_interval_ns_ = 0;
  double staged_share_ = 0;
  std::uint64_t steal_looked_ns_ = 0;
  bool steal_wanted_ = false;       // with the next drain, however long ago the last look is
  std::uint64_t sight_due_ns_ = 0;  // when to ask the kernel again what it counted
  bool sight_wanted_ = false;
  std::uint64_t clocked_ns_ = 0;  // when the last sample was taken
  std::uint64_t clock_steps_ = 0;
  std::uint64_t missed_runs_ = 0;
  std::uint64_t lost_origins_ = 0;
  std::uint64_t bad_origins_ = 0;
  std::uint64_t latest_ns_ = 0;   // nothing that was read from a ring can be later
  bool missed_ = false;           // runs, since the drain before
  bool clock_stepped_ = false;    // likewise
  bool origins_missing_ = false;  // likewise: no interval of this drain can be given a cause
};

}  // namespace noised
