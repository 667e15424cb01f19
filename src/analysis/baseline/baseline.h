// SPDX-License-Identifier: Apache-2.0
// A run in numbers that another run can be compared with: what each source did in each block of observed time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "account/attributor.h"
#include "model/report.h"
#include "model/sources.h"
#include "model/types.h"

namespace noised::analysis {

/// What one source did in one block, on all CPUs.
struct SourceBlock {
  std::uint64_t count = 0;
  std::uint64_t self_ns = 0;
};

struct BaselineSource {
  Kind kind = Kind::none;
  std::string name;
  std::vector<SourceBlock> blocks;  ///< one for each block of the run
};

struct BaselineCpu {
  unsigned cpu = 0;
  std::uint64_t threshold_ns = 0;
  std::uint64_t observed_ns = 0;
};

/// How many durations fall into each bucket, by its lower bound in ns (duration_bucket()).
using DurationCounts = std::map<std::uint64_t, std::uint64_t>;

/// Lower bound in ns of the bucket that a duration falls into: exact below 16 ns, 16 buckets of equal width in each
/// octave from there on.
std::uint64_t duration_bucket(std::uint64_t duration_ns);

/// Blocks have a length that is this times a power of two: blocks of two runs can always be made equally long.
inline constexpr std::uint64_t kShortestBlockNs = 10'000'000;
/// A run is never cut into more; into more than half as many unless it is shorter than so many of the shortest.
inline constexpr std::size_t kMostBlocks = 128;

/// One run. Noise comes in bursts, so that single events are not independent of each other; blocks of many of them
/// nearly are, which is what the tests in baseline_diff.h need.
struct Baseline {
  std::string host;
  std::string kernel;
  std::string boot_parameters;
  std::string processor;
  std::string start;                     ///< of what is in it, RFC 3339, UTC; empty: not known
  std::string policy;                    ///< of the loop
  unsigned duty_percent = 100;           ///< of the loop
  std::vector<std::string> kinds;        ///< of sources that could be seen, sorted
  std::vector<std::string> unsupported;  ///< as the report says it
  ReportLost lost;
  std::vector<BaselineCpu> cpus;
  std::uint64_t block_ns = kShortestBlockNs;  ///< observed time of each CPU in each block
  std::vector<DurationCounts> detours;  ///< by block: detours with kernel activity, by the time that the kernel took
  std::vector<BaselineSource> sources;  ///< by kind and name, rising; each with at least one activation

  [[nodiscard]] std::size_t blocks() const { return detours.size(); }
};

/// The same run in blocks twice as long; a last one without a partner is left out, with sources seen nowhere else.
Baseline with_longer_blocks(const Baseline& run);

// From the detours of a run to its blocks, in one pass, however long it is.

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
  void add(std::size_t cpu, const account::DetourLedger& ledger);

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

}  // namespace noised::analysis
