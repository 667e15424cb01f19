// SPDX-License-Identifier: Apache-2.0
// Histograms as JSON, exact, and as bars, in octaves.
#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

#include "views/format.h"
#include "views/json_fields.h"
#include "views/views.h"

namespace noised::views {
namespace {

constexpr const char* kSchema = "noised.histogram/1";
constexpr std::uint64_t kBarWidth = 50;

Json series_json(const HistogramSeriesView& series) {
  Json buckets = Json::array();
  for (const HistogramBucketView& bucket : series.buckets)
    buckets.push_back(Json::array({bucket.low_ns, bucket.high_ns, bucket.count}));
  return Json{{"cpu", series.cpu},   {"category", series.category}, {"kind", series.kind},
              {"name", series.name}, {"count", series.count},       {"buckets", std::move(buckets)}};
}

void read_series(const Fields& fields, HistogramSeriesView& series) {
  fields.read("cpu", series.cpu);
  fields.read("category", series.category);
  fields.read("kind", series.kind);
  fields.read("name", series.name);
  fields.read("count", series.count);
  const Json* buckets = fields.array("buckets");
  if (buckets == nullptr) return;
  for (const Json& bucket : *buckets) {
    const bool fits = bucket.is_array() && bucket.size() == 3 &&
                      std::all_of(bucket.begin(), bucket.end(), [](const Json& n) { return n.is_number_unsigned(); });
    if (!fits) return fields.fail("buckets", "not [low_ns, high_ns, count]");
    series.buckets.push_back(
        {bucket[0].get<std::uint64_t>(), bucket[1].get<std::uint64_t>(), bucket[2].get<std::uint64_t>()});
  }
}

void read_histogram(const Fields& fields, HistogramView& histogram) {
  expect_schema(fields, kSchema);
  fields.read("relative_error", histogram.relative_error);
  fields.each("series", [&](const Fields& item) { read_series(item, histogram.series.emplace_back()); });
}

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
    const double length = static_cast<double>(kBarWidth) * ratio(octaves[k], tallest);
    // What happened once must be seen beside what happened a million times.
    const auto width = octaves[k] == 0 ? std::size_t{0} : std::max(std::size_t{1}, static_cast<std::size_t>(length));
    const std::uint64_t from = k == 0 ? 0 : std::uint64_t{1} << (k - 1);
    text += fmt::format("  from {:>7}  {:>{}}{}{}\n", format_duration(from), octaves[k], count_width,
                        width > 0 ? "  " : "", std::string(width, '#'));
  }
  return text;
}

}  // namespace

std::string to_json(const HistogramView& histogram) {
  Json series = Json::array();
  for (const HistogramSeriesView& each : histogram.series) series.push_back(series_json(each));
  return dump(Json{{"schema", kSchema}, {"relative_error", histogram.relative_error}, {"series", std::move(series)}});
}

Result<HistogramView> parse_histogram(std::string_view json) {
  return parse_as<HistogramView>(json, "histogram", read_histogram);
}

std::string to_text(const HistogramView& histogram) {
  if (histogram.series.empty()) return "no detours yet\n";
  std::string text;
  for (const HistogramSeriesView& series : histogram.series)
    text += (text.empty() ? "" : "\n") + title(series) + bars(series);
  return text;
}

}  // namespace noised::views
