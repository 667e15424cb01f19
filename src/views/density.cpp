// SPDX-License-Identifier: Apache-2.0
// Densities as bars: what lies in each eighth of a decade.
#include "views/density.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "model/json_fields.h"
#include "model/json_parts.h"
#include "views/report.h"
#include "views/text.h"
#include "views/views.h"

namespace noised::views {
namespace {

constexpr double kBarsPerDecade = 8;
constexpr double kDensityBarWidth = 30;

/// Both densities' area in one part of the axis.
struct Bar {
  double user = 0;
  double rebuilt = 0;
};

struct Bars {
  long first = 0;  // the first bar begins at 10^(first / kBarsPerDecade) ns
  std::vector<Bar> bars;
};

double place_of(double duration_ns) { return std::log10(std::max(duration_ns, 1.0)) * kBarsPerDecade; }

long bar_of(std::uint64_t duration_ns) {
  return static_cast<long>(std::floor(place_of(static_cast<double>(duration_ns))));
}

// What lies in each bar below the line from one point to the next: where windows are wide, points are further apart
// than bars.
void add_line(const analysis::DensityPoint& from, const analysis::DensityPoint& to, Bars& all) {
  const double start = std::log10(from.duration_ns) * kBarsPerDecade;
  const double end = std::log10(to.duration_ns) * kBarsPerDecade;
  for (std::size_t i = 0; i < all.bars.size(); ++i) {
    const double bar_start = static_cast<double>(all.first) + static_cast<double>(i);
    const double low = std::max(start, bar_start);
    const double high = std::min(end, bar_start + 1);
    if (low >= high) continue;
    const double way = ((low + high) / 2 - start) / (end - start);
    const double decades = (high - low) / kBarsPerDecade;
    all.bars[i].user += decades * std::lerp(from.user, to.user, way);
    all.bars[i].rebuilt += decades * std::lerp(from.rebuilt, to.rebuilt, way);
  }
}

// Windows reach far beyond the durations that occurred, with few of them by decades: one bar at each side shows that.
Bars bars_of(const analysis::DensityComparison& cpu) {
  Bars result;
  const std::vector<analysis::DensityPoint>& points = cpu.curves.points;
  if (points.empty()) return result;
  result.first = std::max(bar_of(cpu.shortest_ns) - 1, bar_of(1));
  const long last = std::min(bar_of(cpu.longest_ns) + 1, bar_of(UINT64_MAX));
  result.bars.resize(static_cast<std::size_t>(last - result.first) + 1);
  for (std::size_t i = 1; i < points.size(); ++i) add_line(points[i - 1], points[i], result);
  return result;
}

// What is less is not shown: a thousandth of the tallest, but what happened once must be seen beside what happened a
// million times. A quarter of its window's best bar is below that, also where its bars divide it.
double least_shown(double tallest, double bandwidth, std::uint64_t count) {
  if (count == 0) return tallest;
  const double in_one_bar = std::min(1.0, 1 / (kBarsPerDecade * bandwidth * std::sqrt(2 * std::numbers::pi)));
  return std::min(tallest / 1000, in_one_bar / 4 / static_cast<double>(count));
}

std::string bar_text(double area, double tallest, double least) {
  if (area == 0 || area < least) return "";
  return std::string(std::max(std::size_t{1}, static_cast<std::size_t>(kDensityBarWidth * area / tallest)), '#');
}

std::string share_text(double area, double least) { return area == 0 || area < least ? "" : format_share(area); }

// In whole nanoseconds, the shortest bars would all be the same.
std::string bar_start_text(double ns) {
  return ns < 10 ? fmt::format("{:.2f} ns", ns) : format_duration(static_cast<std::uint64_t>(std::round(ns)));
}

std::string bars_text(const analysis::DensityComparison& cpu) {
  const Bars all = bars_of(cpu);
  double tallest = 0;
  for (const Bar& bar : all.bars) tallest = std::max({tallest, bar.user, bar.rebuilt});
  const double least_user = least_shown(tallest, cpu.curves.bandwidth, cpu.detours);
  const double least_rebuilt = least_shown(tallest, cpu.curves.bandwidth, cpu.stretches);
  Table table({{"from", Table::Align::right},
               {"", Table::Align::right},
               {"seen by the loop", Table::Align::left},
               {"", Table::Align::right},
               {"rebuilt from the kernel's events", Table::Align::left}});
  for (std::size_t i = 0; i < all.bars.size(); ++i) {
    const Bar& bar = all.bars[i];
    const double from = std::pow(10.0, (static_cast<double>(all.first) + static_cast<double>(i)) / kBarsPerDecade);
    table.add({bar_start_text(from), share_text(bar.user, least_user), bar_text(bar.user, tallest, least_user),
               share_text(bar.rebuilt, least_rebuilt), bar_text(bar.rebuilt, tallest, least_rebuilt)});
  }
  return table.text();
}

std::string distance_text(const std::optional<double>& distance) {
  return distance ? fmt::format("{:.4f}", *distance) : "not defined, as one of the two is empty,";
}

std::uint64_t mean_ns(std::uint64_t total, std::uint64_t count) { return count == 0 ? 0 : total / count; }

std::string reasons_text(const analysis::DensityComparison& cpu) {
  std::string text = fmt::format("distance {} as seen\n", distance_text(cpu.as_seen));
  text += fmt::format(
      "         {} without the {} detours that have no kernel activity, and the {} stretches in no detour (below the "
      "threshold, or not observed)\n",
      distance_text(cpu.with_activity), cpu.detours - cpu.detours_with_activity,
      cpu.stretches - cpu.stretches_in_detours);
  text += fmt::format(
      "         {} of these, when to each stretch of kernel activity a fixed overhead is added, the mean of its kind "
      "in "
      "other seconds ({} stretches have one)\n",
      distance_text(cpu.predicted), cpu.predicted_stretches);
  text += fmt::format(
      "         {} when from the other {} detours overhead ({} each, on average) and time without a cause ({} each) "
      "are "
      "taken out too, and from their {} stretches the pauses\n",
      distance_text(cpu.explained), cpu.detours_with_activity,
      format_duration(mean_ns(cpu.overhead_ns, cpu.detours_with_activity)),
      format_duration(mean_ns(cpu.without_cause_ns, cpu.detours_with_activity)), cpu.stretches_in_detours);
  if (cpu.instants != 0)
    text += fmt::format("{} events without a duration (see unsupported) are no stretch\n", cpu.instants);
  if (cpu.cut_stretches != 0)
    text += fmt::format("{} stretches are shown in parts: too many had to be held\n", cpu.cut_stretches);
  return text;
}

Json distance_json(const std::optional<double>& distance) { return distance ? Json(*distance) : Json(nullptr); }

Json cpu_json(const analysis::DensityComparison& cpu) {
  Json points = Json::array();
  for (const analysis::DensityPoint& point : cpu.curves.points)
    points.push_back(Json::array({point.duration_ns, point.user, point.rebuilt}));
  return Json{{"cpu", cpu.cpu},
              {"joined_within_ns", cpu.joined_within_ns},
              {"detours", cpu.detours},
              {"detours_with_activity", cpu.detours_with_activity},
              {"stretches", cpu.stretches},
              {"stretches_in_detours", cpu.stretches_in_detours},
              {"instants", cpu.instants},
              {"cut_stretches", cpu.cut_stretches},
              {"overhead_ns", cpu.overhead_ns},
              {"without_cause_ns", cpu.without_cause_ns},
              {"distance", distance_json(cpu.as_seen)},
              {"distance_with_activity", distance_json(cpu.with_activity)},
              {"distance_predicted", distance_json(cpu.predicted)},
              {"predicted_stretches", cpu.predicted_stretches},
              {"distance_explained", distance_json(cpu.explained)},
              {"bandwidth_decades", cpu.curves.bandwidth},
              {"points", std::move(points)}};
}

}  // namespace

std::string to_text(const std::vector<analysis::DensityComparison>& cpus, const Report& report) {
  std::string text = report_head(report);
  for (const analysis::DensityComparison& cpu : cpus) {
    text += fmt::format(
        "\nCPU {}: {} detours seen by the loop, {} stretches of kernel activity (pauses up to {} are part of one)\n",
        cpu.cpu, cpu.detours, cpu.stretches, format_duration(cpu.joined_within_ns));
    text += bars_text(cpu) + reasons_text(cpu);
  }
  return text + "\ndistance: of Kolmogorov and Smirnov, 0 is the same, 1 apart altogether\n" + report_tail(report);
}

std::string to_json(const std::vector<analysis::DensityComparison>& cpus, const Report& report) {
  Json json_cpus = Json::array();
  for (const analysis::DensityComparison& cpu : cpus) json_cpus.push_back(cpu_json(cpu));
  return dump(Json{{"schema", "noised.density/1"},
                   {"lost", lost_json(report.lost)},
                   {"unsupported", report.unsupported},
                   {"cpus", std::move(json_cpus)}});
}

}  // namespace noised::views
