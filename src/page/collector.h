// SPDX-License-Identifier: Apache-2.0
// What the page shows over time, collected while a recording plays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/types.h"
#include "model/views.h"
#include "page/charts.h"
#include "recording/player.h"

namespace noised::page {

// Sums over time when nobody knows how long it will last: bins that double in width when there are too many.

/// Bins of equal width, each with columns of integers for every lane (a CPU, or all of them). Memory is bounded by
/// lanes * columns * most_bins, whatever is added.
class TimeBins {
 public:
  TimeBins(std::size_t lanes, std::size_t columns, std::size_t most_bins);

  /// Adds the nanoseconds from start to end, each to the bin in which it lies.
  void add(std::size_t lane, std::size_t column, std::uint64_t start_ns, std::uint64_t end_ns);
  /// Adds one to the bin in which this time lies.
  void count(std::size_t lane, std::size_t column, std::uint64_t at_ns);

  /// Has bins from the first to the last of these times, both included.
  void cover(std::uint64_t first_ns, std::uint64_t last_ns);

  /// Bins begin at multiples of their width, which is a microsecond times a power of two.
  [[nodiscard]] std::uint64_t width_ns() const { return width_ns_; }
  [[nodiscard]] std::uint64_t first_ns() const { return first_ * width_ns_; }
  [[nodiscard]] std::size_t bins() const { return cells_.size() / (lanes_ * columns_); }
  [[nodiscard]] std::uint64_t at(std::size_t bin, std::size_t lane, std::size_t column) const {
    return cells_[(bin * lanes_ + lane) * columns_ + column];
  }

 private:
  void double_width();
  std::uint64_t& cell(std::uint64_t index, std::size_t lane, std::size_t column) {
    return cells_[((index - first_) * lanes_ + lane) * columns_ + column];
  }

  std::size_t lanes_;
  std::size_t columns_;
  std::size_t most_bins_;
  std::uint64_t width_ns_ = 1'000;
  std::uint64_t first_ = 0;  // what the first bin's time is divided by the width
  std::vector<std::uint64_t> cells_;
};

// The longest detours of a recording, with their entries.

struct LongDetour {
  DetourView view;
  Category category = Category::unexplained;  ///< the one that took most of its time
};

/// Keeps the longest `most`; of two that are equally long, the earlier. Memory does not grow beyond that.
class LongestDetours {
 public:
  explicit LongestDetours(std::size_t most) : most_(most) {}

  /// Whether a detour of this duration would be kept now.
  [[nodiscard]] bool wants(std::uint64_t duration_ns) const {
    return kept_.size() < most_ || kept_.front().view.duration_ns < duration_ns;
  }
  void add(LongDetour detour);
  /// All that were kept, the longest first.
  [[nodiscard]] std::vector<LongDetour> sorted() const;

 private:
  std::size_t most_;
  std::vector<LongDetour> kept_;  // a heap: the shortest first
};

/// The columns of the timeline: first the nanoseconds of each Category, then these.
inline constexpr std::size_t kMissingColumn = kCategoryCount;         ///< nanoseconds that were not observed
inline constexpr std::size_t kDetourColumn = kCategoryCount + 1;      ///< detours that begin here
inline constexpr std::size_t kIncompleteColumn = kCategoryCount + 2;  ///< those of them that are incomplete
inline constexpr std::size_t kColumnCount = kCategoryCount + 3;

class Collector : public recording::PlayerVisitor {
 public:
  static constexpr std::size_t kMostBins = 2048;
  /// Bins of single CPUs are wider where there are many CPUs: so many in all.
  static constexpr std::size_t kMostCpuBins = 12288;
  static constexpr std::size_t kLongest = 200;

  explicit Collector(const recording::Playback& playback);

  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view details) override;
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

  const recording::Playback& playback_;
  Placing placing_;
  TimeBins all_;
  TimeBins by_cpu_;
  LongestDetours longest_{kLongest};
  std::vector<Seen> seen_;
  std::uint64_t first_ns_ = 0;
  std::uint64_t last_ns_ = 0;
};

}  // namespace noised::page
