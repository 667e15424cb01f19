// SPDX-License-Identifier: Apache-2.0
// What the report says CPU by CPU, of all CPUs together.
#pragma once

#include <noised/report.h>
#include <noised/types.h>
#include <noised/views.h>

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "statistics/histogram.h"

namespace noised::page {

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

}  // namespace noised::page
