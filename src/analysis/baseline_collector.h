// SPDX-License-Identifier: Apache-2.0
// From the detours of a run to its blocks, in one pass, however long it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/baseline.h"
#include "attribution/ledger.h"
#include "trace/sources.h"

namespace noised {

/// Takes the events of all CPUs as they were recorded. Memory grows with sources and durations only: 2 KiB a source.
class BaselineCollector {
 public:
  /// `sources` must outlive this. Nothing before `from_ns` is told: a recording of a loop that was running begins
  /// there.
  BaselineCollector(const SourceTable& sources, std::size_t cpus, std::uint64_t from_ns = 0)
      : sources_(sources), from_ns_(from_ns), cpus_(cpus) {}

  /// The CPU at this place is observed from this time on; told again of the same loop, that changes nothing. From its
  /// first detour on if this is never called.
  void begin(std::size_t cpu, std::uint64_t first_ns);
  /// It was not observed in this time.
  void skip(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns);
  /// The next detour of it; it belongs to the block in which it starts.
  void add(std::size_t cpu, const Ledger& ledger);

  /// Sets blocks, detours and sources of `run`, whose CPUs and their observed times are set: as many blocks as every
  /// CPU was observed for in full. To be called once, when all was added.
  void finish(Baseline& run);

 private:
  /// Observed time goes on from base_ns at origin_ns of the clock, but for skipped_ns since.
  struct Position {
    bool began = false;
    std::uint64_t origin_ns = 0;
    std::uint64_t base_ns = 0;
    std::uint64_t skipped_ns = 0;
    std::uint64_t reached_ns = 0;
    std::uint64_t last_ns = 0;  ///< on the clock, of what was told last
  };
  std::uint64_t observed_at(Position& position, std::uint64_t time_ns);
  std::size_t block_at(std::uint64_t observed_ns);
  void double_blocks();
  void count(SourceId source, std::size_t block, std::uint64_t self_ns);

  const SourceTable& sources_;
  std::uint64_t from_ns_;
  std::vector<Position> cpus_;
  std::uint64_t block_ns_ = kShortestBlockNs;
  std::vector<DurationCounts> detours_ = std::vector<DurationCounts>(kMostBlocks);
  std::vector<std::vector<SourceBlock>> counts_;  // by source; empty until it was seen
};

/// The name under which runs are compared: which of its interchangeable workers served a CPU is chance, so
/// "kworker/1:0" is "kworker/1:*". As UTF-8, which is what a file of JSON can hold (as_utf8()).
std::string compared_name(Kind kind, const std::string& name);

}  // namespace noised
