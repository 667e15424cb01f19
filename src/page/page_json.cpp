// SPDX-License-Identifier: Apache-2.0
// What the scripts draw. Rows are arrays where there may be many of them.
#include "page/page_json.h"

#include <algorithm>
#include <bit>
#include <string>

#include <fmt/format.h>

#include "model/json_fields.h"
#include "page/html.h"
#include "page/page.h"
#include "views/projection.h"
#include "views/sources.h"

namespace noised::page {
namespace {

Json size_json(const analysis::JobSize& size) {
  const analysis::Estimate& excess = size.excess;
  if (!excess.value) return Json{{"nodes", size.nodes}, {"excess", Json()}, {"text", views::needs_text(excess)}};
  return Json{{"nodes", size.nodes},
              {"excess", Json::array({*excess.value, *excess.low, *excess.high})},
              {"text", views::slowdown_text(*excess.value, *excess.low)},
              {"range", views::slowdown_range(excess)}};
}

Json survival_json(const analysis::PhaseDurations& durations) {
  Json points = Json::array();
  for (const analysis::Survival& point : durations.survival()) {
    if (point.longer_than_ns)
      points.push_back(Json::array({point.p, *point.longer_than_ns, point.low_ns, point.high_ns}));
  }
  return points;
}

}  // namespace

Json projection_json(const PageInput& input) {
  const analysis::Projection& projection = input.projection.projection;
  Json sizes = Json::array();
  for (const analysis::JobSize& size : projection.sizes) sizes.push_back(size_json(size));
  return Json{{"grain_ns", projection.grain_ns}, {"sizes", std::move(sizes)}};
}

Json phases_json(const PageInput& input) {
  Json cpus = Json::array();
  for (std::size_t i = 0; i < std::min(input.phases.cpus.size(), kMostPhaseCpus); ++i) {
    const analysis::PhaseDurations& durations = input.phases.cpus[i].analysis->durations();
    cpus.push_back(Json{{"cpu", input.phases.cpus[i].cpu},
                        {"work_ns", durations.calibrated_ns().value_or(0)},
                        {"points", survival_json(durations)}});
  }
  return cpus;
}

namespace {

/// Buckets of a histogram, so many in an octave, as [low, high, count]: the narrower ones in each are added up. One
/// ends at `cut_ns`, which is the upper bound of a narrow one: what is above it is in other rows than what is not.
Json buckets_json(const Histogram& histogram, std::uint64_t per_octave, std::uint64_t cut_ns = UINT64_MAX) {
  Json rows = Json::array();
  std::uint64_t high_ns = 0;
  std::uint64_t count = 0;
  std::uint64_t low_ns = 0;
  const auto end_row = [&] {
    if (count != 0) rows.push_back(Json::array({low_ns, high_ns, count}));
  };
  histogram.for_each([&](const HistogramBucket& bucket) {
    if (count != 0 && bucket.high_ns <= high_ns) {
      count += bucket.count;
      return;
    }
    end_row();
    const std::uint64_t octave_ns = std::bit_floor(bucket.low_ns);
    const std::uint64_t step_ns = std::max<std::uint64_t>(octave_ns / per_octave, 1);
    low_ns = octave_ns + (bucket.low_ns - octave_ns) / step_ns * step_ns;
    high_ns = low_ns + (step_ns - 1);
    if (bucket.low_ns > cut_ns) low_ns = std::max(low_ns, cut_ns + 1);
    if (bucket.low_ns <= cut_ns) high_ns = std::min(high_ns, cut_ns);
    count = bucket.count;
  });
  end_row();
  return rows;
}

Json source_json(const MergedSource& source) {
  return Json{{"category", static_cast<unsigned>(source.category)},
              {"label", source.kind + ":" + source.name},
              {"count", source.count},
              {"total_ns", source.total_ns},
              {"min_ns", source.min_ns},
              {"max_ns", source.max_ns},
              {"p99_ns", source.p99_ns},
              {"tail_count", source.tail_count},
              {"tail_ns", source.tail_ns},
              {"buckets", buckets_json(source.histogram, 8, source.p99_ns)}};
}

// Fewer sources of each CPU where there are many CPUs.
std::size_t sources_of_a_cpu(std::size_t cpus) { return std::clamp<std::size_t>(3000 / cpus, 5, kMostSources); }

Json top_json(const MergedCpu& cpu, std::size_t most) {
  Json rows = Json::array();
  for (const auto& [place, source] : cpu.top) {
    if (rows.size() == most) break;
    if (place < kMostSources) rows.push_back(Json::array({place, source->count, source->total_ns, source->max_ns}));
  }
  return rows;
}

Json cpu_json(const ReportCpu& report, const MergedCpu& merged, std::size_t most_sources) {
  return Json{{"cpu", report.cpu},
              {"observed_ns", report.observed_ns},
              {"detours", report.detours},
              {"detour_ns", report.detour_ns},
              {"max_detour_ns", report.max_detour_ns},
              {"categories", merged.categories},
              {"durations", buckets_json(merged.detours, 8)},
              {"sources", top_json(merged, most_sources)}};
}

Json all_json(const PageInput& input) {
  ReportCpu all;
  if (input.report.cpus.size() == 1) all.cpu = input.report.cpus.front().cpu;
  all.observed_ns = views::observed_ns_of_all(input.report);
  all.detour_ns = views::stolen_ns_of_all(input.report);
  for (const ReportCpu& cpu : input.report.cpus) {
    all.detours += cpu.detours;
    all.max_detour_ns = std::max(all.max_detour_ns, cpu.max_detour_ns);
  }
  Json json = cpu_json(all, input.merged.all, 0);
  json["durations"] = buckets_json(input.merged.all.detours, 32);
  Json rows = Json::array();
  for (std::size_t i = 0; i < std::min(input.merged.sources.size(), kMostSources); ++i) {
    const MergedSource& source = input.merged.sources[i];
    rows.push_back(Json::array({i, source.count, source.total_ns, source.max_ns}));
  }
  json["sources"] = std::move(rows);
  return json;
}

/// The columns of a lane; null stands for one that is zero throughout.
Json lane_json(const TimeBins& bins, std::size_t lane) {
  Json columns = Json::array();
  for (std::size_t column = 0; column < kColumnCount; ++column) {
    Json values = Json::array();
    bool any = false;
    for (std::size_t bin = 0; bin < bins.bins(); ++bin) {
      values.push_back(bins.at(bin, lane, column));
      any = any || bins.at(bin, lane, column) != 0;
    }
    columns.push_back(any ? std::move(values) : Json());
  }
  return columns;
}

/// A timeline with its lanes; its time 0 is the first that was observed, which lies inside of its first bin.
Json bins_json(const TimeBins& bins, std::uint64_t first_ns, const std::vector<std::size_t>& lanes) {
  Json json{{"width_ns", bins.width_ns()}, {"before_ns", 0}, {"bins", bins.bins()}, {"lanes", Json::array()}};
  if (bins.bins() != 0) json["before_ns"] = first_ns - bins.first_ns();
  for (const std::size_t lane : lanes) json["lanes"].push_back(lane_json(bins, lane));
  return json;
}

/// An entry that was only counted has null for its self time.
Json detour_json(const LongDetour& detour, const Merged& merged, std::uint64_t first_ns) {
  Json entries = Json::array();
  for (const DetourEntryView& entry : detour.view.entries) {
    std::string detail;
    for (const auto& [key, value] : entry.detail)
      detail += fmt::format("{}{} {}", detail.empty() ? "" : ", ", key, value);
    const std::string label = entry.kind + ":" + entry.name;
    const Json self_ns = merged.untimed.contains(label) ? Json() : Json(entry.self_ns);
    entries.push_back(Json::array({label, self_ns, entry.depth, detail}));
  }
  return Json{{"cpu", detour.view.cpu},
              {"start_ns", detour.view.start_ns - first_ns},
              {"duration_ns", detour.view.duration_ns},
              {"incomplete", detour.view.incomplete},
              {"category", static_cast<unsigned>(detour.category)},
              {"overhead_ns", detour.view.overhead_ns},
              {"entries", std::move(entries)}};
}

Json density_json(const DensityChart& chart) {
  Json curves = Json::array();
  for (const DensityCurve& curve : chart.curves)
    curves.push_back(Json{{"label", curve.label}, {"points", curve.points}});
  return Json{{"unit", chart.unit}, {"note", chart.note}, {"curves", std::move(curves)}};
}

Json category_names() {
  Json names = Json::array();
  for (std::size_t i = 0; i < kCategoryCount; ++i) names.push_back(to_string(static_cast<Category>(i)));
  return names;
}

}  // namespace

std::string to_json(const PageInput& input) {
  const std::vector<std::size_t> shown = shown_cpus(input.report);
  const std::uint64_t first_ns = input.collector.first_ns();
  Json cpus = Json::array();
  for (const std::size_t place : shown)
    cpus.push_back(cpu_json(input.report.cpus[place], input.merged.cpus[place], sources_of_a_cpu(shown.size())));
  Json sources = Json::array();
  for (std::size_t i = 0; i < std::min(input.merged.sources.size(), kMostSources); ++i)
    sources.push_back(source_json(input.merged.sources[i]));
  Json longest = Json::array();
  for (const LongDetour& detour : input.collector.longest().sorted())
    longest.push_back(detour_json(detour, input.merged, first_ns));
  const bool single = input.report.cpus.size() == 1;  // all CPUs are the same as this one
  return escape_script(dump(
      Json{{"cpu_count", input.report.cpus.size()},
           {"span_ns", input.collector.last_ns() - first_ns},
           {"categories", category_names()},
           {"all", all_json(input)},
           {"cpus", single ? Json::array() : std::move(cpus)},
           {"sources", std::move(sources)},
           {"source_count", input.merged.sources.size()},
           {"timeline", bins_json(input.collector.all(), first_ns, {0})},
           {"cpu_timeline", bins_json(input.collector.by_cpu(), first_ns, single ? std::vector<std::size_t>() : shown)},
           {"longest", std::move(longest)},
           {"density", density_json(input.density)},
           {"projection", projection_json(input)},
           {"phases", phases_json(input)}}));
}

}  // namespace noised::page
