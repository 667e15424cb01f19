// SPDX-License-Identifier: Apache-2.0
// All phases of one name, summed: how long they took, what they lost, and what made the late ones late. Pure.
#pragma once

#include "model/watch.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

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
  struct Delay {
    std::uint64_t count = 0;
    std::uint64_t ns = 0;
  };
  [[nodiscard]] std::vector<MarkedSource> sources(const SourceNames& names, const SourceTimes& late,
                                                  const SourceTimes& typical) const;
  [[nodiscard]] PhaseCost cost(std::uint64_t ranks) const;

  PhaseGroup all_;
  std::uint64_t min_ns_ = UINT64_MAX;
  std::uint64_t max_ns_ = 0;
  std::uint64_t delayed_ = 0;
  std::uint64_t incomplete_ = 0;
  std::set<std::uint32_t> threads_;
  std::map<std::uint64_t, Bucket> buckets_;  // by the lower bound of the duration
  std::map<std::uint64_t, Delay> delays_;    // phases by the lower bound of the time stolen from them
  SourceTimes stolen_;
  SourceTimes touched_;  // how many phases each source took something from
  std::vector<FinishedPhase> longest_;
};

}  // namespace noised::marks
