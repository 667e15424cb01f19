// SPDX-License-Identifier: Apache-2.0
// A run in numbers that another run can be compared with: what each source did in each block of observed time.
#pragma once

#include <noised/report.h>
#include <noised/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace noised {

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

}  // namespace noised
