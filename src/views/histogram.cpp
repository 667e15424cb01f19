// SPDX-License-Identifier: Apache-2.0
// Histograms as JSON, exact, and as bars, in octaves.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "model/json_parts.h"
#include "views/sources.h"
#include "views/text.h"
#include "views/views.h"

namespace noised::views {
namespace {

constexpr double kBarWidth = 40;
// Of each CPU, by time; --all and JSON have the others.
constexpr std::size_t kHistogramSources = 5;

// Within a bucket, which is 1/64 wide at most, durations are taken for evenly spread.
double ns_in(const HistogramBucketView& bucket) {
  return static_cast<double>(bucket.count) *
         (static_cast<double>(bucket.low_ns) +
          (static_cast<double>(bucket.high_ns) - static_cast<double>(bucket.low_ns)) / 2);
}

double ns_in(const HistogramSeriesView& series) {
  double ns = 0;
  for (const HistogramBucketView& bucket : series.buckets) ns += ns_in(bucket);
  return ns;
}

std::string duration_text(double ns) {
  constexpr double kMost = 1.8e19;
  return format_duration(static_cast<std::uint64_t>(std::llround(std::min(ns, kMost / 2))));
}

// What this share of all is no longer than.
std::uint64_t quantile_ns(const HistogramSeriesView& series, double share) {
  double seen = 0;
  for (const HistogramBucketView& bucket : series.buckets) {
    seen += static_cast<double>(bucket.count);
    if (seen >= share * static_cast<double>(series.count)) return bucket.high_ns;
  }
  return series.buckets.empty() ? 0 : series.buckets.back().high_ns;
}

bool is_of_detours(const HistogramSeriesView& series) { return series.kind.empty(); }

std::string title(const HistogramSeriesView& series) {
  const std::string what =
      is_of_detours(series) ? std::string("all detours") : printable(short_label(series.kind, series.name));
  std::string text = fmt::format("CPU {}  {}: {}", series.cpu, what, series.count);
  if (series.count == 0 || series.buckets.empty()) return text + "\n";
  if (series.buckets.back().high_ns == 0) return text + ", not timed\n";
  text += fmt::format(" in {}; half up to {}, 99% up to {}", duration_text(ns_in(series)),
                      format_duration(quantile_ns(series, 0.5)), format_duration(quantile_ns(series, 0.99)));
  // Of fewer, it would be the longest.
  if (series.count > 1000) text += fmt::format(", 99.9% up to {}", format_duration(quantile_ns(series, 0.999)));
  return text + fmt::format(", the longest up to {}\n", format_duration(series.buckets.back().high_ns));
}

struct Octave {
  std::uint64_t count = 0;
  double ns = 0;
};

// Octave k holds 2^(k-1) to 2^k - 1 ns; octave 0 holds 0 ns. u64 has 65 of them. Bars are of the time: two detours of 4
// ms are not like one of 32 ns.
std::string bars(const HistogramSeriesView& series) {
  std::array<Octave, 65> octaves{};
  for (const HistogramBucketView& bucket : series.buckets) {
    Octave& octave = octaves[static_cast<std::size_t>(std::bit_width(bucket.low_ns))];
    octave.count += bucket.count;
    octave.ns += ns_in(bucket);
  }
  const auto has_any = [](const Octave& octave) { return octave.count != 0; };
  const auto first = std::ranges::find_if(octaves, has_any);
  if (first == octaves.end()) return "";
  const auto end = std::find_if(octaves.rbegin(), octaves.rend(), has_any).base();
  const double most_ns = std::ranges::max_element(octaves, {}, &Octave::ns)->ns;
  if (most_ns <= 0) return "";
  const std::size_t count_width = std::to_string(std::ranges::max_element(octaves, {}, &Octave::count)->count).size();
  std::string text;
  for (auto octave = first; octave != end; ++octave) {
    const auto k = static_cast<std::size_t>(octave - octaves.begin());
    const std::uint64_t from = k == 0 ? 0 : std::uint64_t{1} << (k - 1);
    const auto width = static_cast<std::size_t>(std::lround(kBarWidth * octave->ns / most_ns));
    text += fmt::format("  from {:>7}  {:>{}}", format_duration(from), octave->count, count_width);
    if (octave->count != 0) text += fmt::format("  {:>7}", duration_text(octave->ns));
    // What took little must still be seen.
    if (octave->ns > 0) text += "  " + std::string(std::max(width, std::size_t{1}), '#');
    text += '\n';
  }
  return text;
}

}  // namespace

std::string to_json(const HistogramView& histogram) { return dump(fields_json(histogram, kHistogramFields)); }

Result<HistogramView> parse_histogram(std::string_view json) {
  return parse_as<HistogramView>(json, "histogram", kHistogramFields);
}

std::string to_text(const HistogramView& histogram, bool all_sources) {
  if (histogram.series.empty()) return "no detours yet\n";
  std::string text;
  std::size_t left_out = 0;
  const auto show = [&text](const HistogramSeriesView& series) {
    text += (text.empty() ? "" : "\n") + title(series) + bars(series);
  };
  for (auto first = histogram.series.begin(); first != histogram.series.end();) {
    const auto end =
        std::find_if(first, histogram.series.end(), [&](const auto& each) { return each.cpu != first->cpu; });
    std::vector<const HistogramSeriesView*> sources;
    for (auto each = first; each != end; ++each) {
      if (is_of_detours(*each)) {
        show(*each);
      } else {
        sources.push_back(&*each);
      }
    }
    std::ranges::stable_sort(sources, std::ranges::greater(), [](const auto* each) { return ns_in(*each); });
    const std::size_t shown = all_sources ? sources.size() : std::min(sources.size(), kHistogramSources);
    for (std::size_t i = 0; i < shown; ++i) show(*sources[i]);
    left_out += sources.size() - shown;
    first = end;
  }
  if (left_out != 0) text += fmt::format("\n{} sources that took less time: --all shows them\n", left_out);
  return text;
}

}  // namespace noised::views
