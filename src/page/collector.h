// SPDX-License-Identifier: Apache-2.0
// What the page shows over time, collected while a recording plays.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "page/longest_detours.h"
#include "page/placing.h"
#include "page/time_bins.h"
#include "recording/player.h"

namespace noised::page {

/// The columns of the timeline: first the nanoseconds of each Category, then these.
inline constexpr std::size_t kMissingColumn = kCategoryCount;         ///< nanoseconds that were not observed
inline constexpr std::size_t kDetourColumn = kCategoryCount + 1;      ///< detours that begin here
inline constexpr std::size_t kIncompleteColumn = kCategoryCount + 2;  ///< those of them that are incomplete
inline constexpr std::size_t kColumnCount = kCategoryCount + 3;

class Collector : public PlayerVisitor {
 public:
  static constexpr std::size_t kMostBins = 2048;
  /// Bins of single CPUs are wider where there are many CPUs: so many in all.
  static constexpr std::size_t kMostCpuBins = 12288;
  static constexpr std::size_t kLongest = 200;

  explicit Collector(const Playback& playback);

  void detour(std::size_t cpu, const Ledger& ledger, std::string_view details) override;
  void gap(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) override;
  void begins(std::size_t cpu, std::uint64_t first_ns) override;
  void sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t iterations) override;
  /// After the last event. What is after the last event of a CPU was observed as far as the report says that so much of
  /// it was observed; the time before its first was not.
  void finish(const Report& report);

  /// From the first time that anything was observed to the last, in ns; both 0 if there was nothing.
  [[nodiscard]] std::uint64_t first_ns() const { return first_ns_; }
  [[nodiscard]] std::uint64_t last_ns() const { return last_ns_; }
  /// One lane: all CPUs.
  [[nodiscard]] const TimeBins& all() const { return all_; }
  /// A lane for each CPU, by its place.
  [[nodiscard]] const TimeBins& by_cpu() const { return by_cpu_; }
  [[nodiscard]] const LongestDetours& longest() const { return longest_; }

 private:
  struct Seen {
    bool begun = false;
    bool apart = false;  // what comes next is of a new part
    std::uint64_t first_ns = 0;
    std::uint64_t last_ns = 0;
    std::uint64_t missing_ns = 0;
  };
  void see(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns);
  void note_missing(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns);

  const Playback& playback_;
  Placing placing_;
  TimeBins all_;
  TimeBins by_cpu_;
  LongestDetours longest_{kLongest};
  std::vector<Seen> seen_;
  std::uint64_t first_ns_ = 0;
  std::uint64_t last_ns_ = 0;
};

}  // namespace noised::page
