// SPDX-License-Identifier: Apache-2.0
// Densities of durations, drawn over each other: what the loop saw, and what the kernel's events say.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "account/attributor.h"
#include "analysis/density/distributions.h"
#include "model/histogram.h"
#include "model/ledger.h"
#include "model/report.h"
#include "model/sources.h"
#include "model/types.h"
#include "model/views.h"
#include "recording/player.h"

namespace noised::page {

// What the report says CPU by CPU, of all CPUs together.

/// The nanoseconds of each Category.
using CategorySums = std::array<std::uint64_t, kCategoryCount>;

/// A source on all CPUs.
struct MergedSource {
  Category category = Category::unexplained;
  std::string kind;
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t min_ns = 0;
  std::uint64_t mean_ns = 0;
  std::uint64_t max_ns = 0;
  bool timed = true;    ///< false: it was only counted, and the times are none
  Histogram histogram;  ///< of its self times
  /// 99 in 100 self times do not exceed this: the upper bound of their bucket in the histogram, ns.
  std::uint64_t p99_ns = 0;
  std::uint64_t tail_count = 0;  ///< self times above p99_ns
  std::uint64_t tail_ns = 0;     ///< their sum; Tails measures it
};

/// One CPU, or all.
struct MergedCpu {
  CategorySums categories{};
  Histogram detours;                                             ///< of their durations
  std::vector<std::pair<std::size_t, const ReportSource*>> top;  ///< place among the merged sources; by total time
};

struct Merged {
  std::vector<MergedSource> sources;  ///< by total time, falling
  std::vector<MergedCpu> cpus;        ///< as in the report
  MergedCpu all;
  std::set<std::string> untimed;  ///< "kind:name" of those that were only counted
};

/// `report` and `histograms` are of the same moment, and `report` is to outlive the result.
Merged merge(const Report& report, const HistogramView& histograms);

// Where in time each nanosecond of a detour lay, and what category it is of.

/// Time of one category, without a break.
struct Piece {
  Category category = Category::unexplained;
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
};

/// Divides a detour into pieces: they follow each other from its start to its end, and their sums by category are those
/// of its ledger. Self times are where they were. Of the time outside intervals it is known where it was, but not which
/// part of it was overhead: overhead is put before hypervisor, hardware and unexplained.
class Placing {
 public:
  explicit Placing(const SourceTable& sources) : sources_(sources) {}

  /// The pieces are valid until the next call.
  std::span<const Piece> place(const account::DetourLedger& ledger);

 private:
  struct Left {
    Category category = Category::unexplained;
    std::uint64_t ns = 0;
  };
  void advance(std::uint64_t to_ns);
  Left& owner();

  const SourceTable& sources_;
  std::vector<Left> open_;  // intervals that have begun, the last one last
  std::array<Left, kGapKinds.size()> outside_;
  std::uint64_t cursor_ns_ = 0;  // everything before it has its piece
  std::vector<Piece> pieces_;
};

// How long the self times above the 99th percentile are in all. A histogram knows how many they are, but not that: the
// recording is played once more.

class Tails : public recording::PlayerVisitor {
 public:
  /// `sources` with their p99_ns; `playback` is the one that will be played with this.
  Tails(const std::vector<MergedSource>& sources, const recording::Playback& playback);

  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view details) override;
  /// Sets tail_ns of each; false if the counts are not those of the first time: another recording was played.
  bool set(std::vector<MergedSource>& sources) const;

 private:
  struct Tail {
    bool known = false;
    std::size_t source = 0;  // its place
    std::uint64_t above_ns = 0;
    std::uint64_t count = 0;
    std::uint64_t total_ns = 0;
  };
  Tail& tail_of(SourceId id);
  void add(SourceId id, std::uint64_t ns);

  const recording::Playback& playback_;
  std::map<std::pair<std::string, std::string>, Tail> named_;
  std::vector<Tail> tails_;  // by SourceId
};

struct DensityCurve {
  std::string label;
  std::vector<std::pair<double, double>> points;  ///< duration in ns, density; by duration, rising
};

struct DensityChart {
  std::vector<DensityCurve> curves;  ///< at most two are told apart
  std::string unit;                  ///< of the density
  std::string note;                  ///< how they were estimated, and their distance
};

/// The curves of all CPUs together, and the distances of each CPU: of the eight that differ most where there are more.
DensityChart density_chart(const analysis::DensityCurves& all, std::vector<analysis::DensityComparison> cpus);

}  // namespace noised::page
