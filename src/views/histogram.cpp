// SPDX-License-Identifier: Apache-2.0
// Histograms as JSON, exact, and as bars, in octaves.
#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

#include "base/text.h"
#include "model/json_parts.h"
#include "views/text.h"
#include "views/views.h"

namespace noised::views {
namespace {

constexpr std::uint64_t kHistogramBarWidth = 50;

std::string title(const HistogramSeriesView& series) {
  const std::string what = series.kind.empty()
                               ? std::string("all detours")
                               : printable(fmt::format("{} {}:{}", series.category, series.kind, series.name));
  return fmt::format("cpu {}  {}  ({})\n", series.cpu, what, series.count);
}

// Octave k holds 2^(k-1) to 2^k - 1 ns; octave 0 holds 0 ns. u64 has 65 of them.
std::string bars(const HistogramSeriesView& series) {
  std::array<std::uint64_t, 65> octaves{};
  for (const HistogramBucketView& bucket : series.buckets)
    octaves[static_cast<std::size_t>(std::bit_width(bucket.low_ns))] += bucket.count;
  const std::uint64_t tallest = *std::max_element(octaves.begin(), octaves.end());
  if (tallest == 0) return "  empty\n";

  std::size_t first = 0;
  while (octaves[first] == 0) ++first;
  std::size_t last = octaves.size() - 1;
  while (octaves[last] == 0) --last;
  const std::size_t count_width = std::to_string(tallest).size();

  std::string text;
  for (std::size_t k = first; k <= last; ++k) {
    const double length = static_cast<double>(kHistogramBarWidth) * ratio(octaves[k], tallest);
    // What happened once must be seen beside what happened a million times.
    const auto width = octaves[k] == 0 ? std::size_t{0} : std::max(std::size_t{1}, static_cast<std::size_t>(length));
    const std::uint64_t from = k == 0 ? 0 : std::uint64_t{1} << (k - 1);
    text += fmt::format("  from {:>7}  {:>{}}{}{}\n", format_duration(from), octaves[k], count_width,
                        width > 0 ? "  " : "", std::string(width, '#'));
  }
  return text;
}

}  // namespace

std::string to_json(const HistogramView& histogram) { return dump(fields_json(histogram, kHistogramFields)); }

Result<HistogramView> parse_histogram(std::string_view json) {
  return parse_as<HistogramView>(json, "histogram", kHistogramFields);
}

std::string to_text(const HistogramView& histogram) {
  if (histogram.series.empty()) return "no detours yet\n";
  std::string text;
  for (const HistogramSeriesView& series : histogram.series)
    text += (text.empty() ? "" : "\n") + title(series) + bars(series);
  return text;
}

}  // namespace noised::views
