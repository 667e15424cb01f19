// SPDX-License-Identifier: Apache-2.0
// The pipeline: drains both streams of every watched CPU, joins them, and keeps account of what was lost.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pipeline/detour_feed.h"
#include "pipeline/snapshot.h"
#include "pipeline/watched_cpu.h"
#include "probe/probe.h"
#include "trace/clock.h"
#include "trace/names.h"
#include "trace/tracer.h"

namespace noised {

/// Runs on one thread, on housekeeping CPUs. Once every source and every combination was seen, a drain neither
/// allocates nor makes a system call.
class Pipeline {
 public:
  /// `clock` has at least two samples. The others outlive the pipeline.
  Pipeline(Tracer& tracer, std::vector<std::unique_ptr<Probe>>& probes, ClockMap& clock, SourceTable& sources,
           Names& names, std::uint64_t threshold_ns, Kind outside);

  /// Everything that came since the last drain: detour rings first, then interval rings, so that every cause of a
  /// detour is there (design.md, decision 4).
  void drain();
  /// The last drain, after the probes have ended.
  void finish();

  void fill(Snapshot& snapshot) const;
  [[nodiscard]] DetourFeed& feed() { return feed_; }
  [[nodiscard]] SnapshotExchange& snapshots() { return snapshots_; }

 private:
  struct Stream {
    Stream(Probe& of, const WatchOptions& options, const SourceTable& sources) : probe(of), watched(options, sources) {
      popped.reserve(of.ring().capacity());
    }

    Probe& probe;
    WatchedCpu watched;
    std::vector<TickDetour> popped;
    std::uint64_t first_ns = 0;
    LostCounters lost;                // at the last drain
    std::uint64_t impossible = 0;     // detours that end before they begin: lost
    std::uint64_t looked_ns = 0;      // when the counters were read last
    std::uint64_t refused = 0;        // intervals that the matcher had no room for
    std::uint64_t detours_lost = 0;   // at the last drain
    std::uint64_t doubt_from_ns = 0;  // something was lost between these two times
    std::uint64_t doubt_until_ns = 0;
    std::vector<std::uint64_t> unseen_ns;  // tasks were switched in at these times, and never seen to leave; rising
  };

  void read(std::size_t index);
  void attribute(Stream& stream);
  void note_losses(Stream& stream, std::uint64_t refused);
  void note_unseen_return(Stream& stream);
  static bool in_doubt(const Stream& stream, const Detour& detour);

  Tracer& tracer_;
  ClockMap& clock_;
  SourceTable& sources_;
  Names& names_;
  DetourFeed feed_;
  SnapshotExchange snapshots_;
  std::vector<Stream> streams_;
  std::uint64_t started_ns_ = 0;
  std::uint64_t clock_steps_ = 0;
};

}  // namespace noised
