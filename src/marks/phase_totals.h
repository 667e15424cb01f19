// SPDX-License-Identifier: Apache-2.0
// All phases of one name, summed: how long they took, what they lost, and what made the late ones late. Pure.
#pragma once

#include "model/watch.h"

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/projection/estimate.h"
#include "analysis/projection/excess.h"

namespace noised::marks {

/// Time by source; the numbers are the daemon's. Few sources touch a phase.
using SourceTimes = std::vector<std::pair<unsigned, std::uint64_t>>;

/// Adds to the source's time, or appends it.
void add_time(SourceTimes& times, unsigned source, std::uint64_t ns);

/// A phase that is over, and what was taken from it.
struct FinishedPhase {
  std::uint32_t pid = 0;  ///< of the thread
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  bool incomplete = false;
  SourceTimes stolen;
};

/// Names of sources, by number.
struct SourceName {
  std::string category;
  std::string kind;
  std::string name;
};
using SourceNames = std::map<unsigned, SourceName>;

/// The time stolen from each phase, in blocks of equally many phases one after the other: what differs between them
/// tells how much the whole can be relied upon.
class StolenBlocks {
 public:
  static constexpr std::size_t kBlocks = analysis::ExcessBlocks::kBlocks;
  struct Group {
    std::uint64_t count = 0;
    std::uint64_t ns = 0;
  };
  using Groups = std::map<std::uint64_t, Group>;  // by the lower bound of their buckets, here an eighth of it wide

  void add(std::uint64_t stolen_ns);
  /// In kBlocks, from 48 phases on, the longest at most twice as long as the shortest, but for the last block, which
  /// may just have begun. Before, some are empty.
  [[nodiscard]] std::vector<Groups> blocks() const;

 private:
  static constexpr std::size_t kMost = 4 * kBlocks;  // then two become one

  std::uint64_t length_ = 1;  // phases in a block that is full
  std::uint64_t in_last_ = 0;
  std::vector<Groups> blocks_;
};

/// In bounded memory: a bucket for durations that are within 1/64 of each other, and the ten longest one by one.
class PhaseTotals {
 public:
  static constexpr std::size_t kLongest = 10;

  void add(const FinishedPhase& phase);
  [[nodiscard]] bool empty() const { return all_.count == 0; }
  /// Everything but the name.
  [[nodiscard]] MarkedPhase view(const SourceNames& names) const;

 private:
  struct Bucket {
    PhaseGroup group;
    SourceTimes stolen;
  };
  [[nodiscard]] std::vector<MarkedSource> sources(const SourceNames& names, const SourceTimes& late,
                                                  const SourceTimes& typical) const;
  [[nodiscard]] std::vector<PhaseCost> costs() const;

  PhaseGroup all_;
  std::uint64_t min_ns_ = UINT64_MAX;
  std::uint64_t max_ns_ = 0;
  std::uint64_t delayed_ = 0;
  std::uint64_t incomplete_ = 0;
  std::set<std::uint32_t> threads_;
  std::map<std::uint64_t, Bucket> buckets_;                            // by the lower bound of the duration
  std::array<std::uint64_t, analysis::kUsualDelays.size()> delays_{};  // phases that were delayed by more than these
  StolenBlocks::Groups stolen_groups_;                                 // by the buckets of durations
  StolenBlocks stolen_blocks_;  // 96 with some 50 buckets of 64 bytes each: 300 KB at most
  SourceTimes stolen_;
  SourceTimes touched_;  // how many phases each source took something from
  std::vector<FinishedPhase> longest_;
};

}  // namespace noised::marks
