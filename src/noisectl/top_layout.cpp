// SPDX-License-Identifier: Apache-2.0
// Title, counters, CPUs, then as many sources as fit.
#include "noisectl/top_layout.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "views/format.h"
#include "views/json_parts.h"
#include "views/views.h"

namespace noised::client {
namespace {

using views::format_duration;
using views::format_share;

constexpr std::size_t kWidestBar = 20;
constexpr std::size_t kColumnsBesideBar = 75;  // up to and with "unexplained"

std::string title(const TopModel& model) {
  const TopSample* sample = model.sample();
  if (sample == nullptr) return "noised";
  const Report& report = sample->report;
  std::string text = fmt::format("noised  {}  kernel {}  up {}", report.host, report.kernel,
                                 format_duration(sample->status ? sample->status->uptime_ns : report.elapsed_ns));
  if (sample->status) text += "  housekeeping cpus " + sample->status->housekeeping_cpus;
  return text;
}

std::string settings(const TopModel& model) {
  std::string text =
      model.since_start() ? std::string("since start") : "last " + format_duration(model.delta().interval_ns);
  text += fmt::format("  sort: {}", to_string(model.sort()));
  if (model.cpu_filter()) text += fmt::format("  cpu: {}", *model.cpu_filter());
  if (!model.category_filter().empty()) text += "  category: " + model.category_filter();
  if (model.paused()) text += "  PAUSED";
  return text;
}

TopLine lost(const Report& report) {
  const bool any = views::anything_lost(report.lost);
  return {(any ? "LOST: " : "lost: ") + views::lost_text(report.lost), any ? TopStyle::alarm : TopStyle::good};
}

// On 80 columns everything up to "unexplained" must be seen: the bar takes only what is left.
std::size_t bar_width(std::size_t width) { return std::min(kWidestBar, width - std::min(width, kColumnsBesideBar)); }

TopLine cpu_line(const TopCpu& cpu, std::size_t bar) {
  const std::string largest = cpu.interval_max_ns == 0 ? "-" : format_duration(cpu.interval_max_ns);
  return {fmt::format("{:>4} {:>8} {}{}{:>9.1f} {:>8} {:>8} {:>10} {:>9} {:>11} {:>9} {:>9}", cpu.cpu,
                      format_share(cpu.noise_share), share_bar(cpu.noise_share, bar), bar > 0 ? " " : "",
                      cpu.detours_per_second, largest, format_duration(cpu.max_ns), format_share(cpu.hypervisor_share),
                      format_share(cpu.overhead_share), format_share(cpu.unexplained_share),
                      format_share(cpu.hardware_share), format_share(cpu.explained_share)),
          cpu.unexplained_share > 0 ? TopStyle::alarm : TopStyle::plain};
}

TopLine cpu_heading(std::size_t bar) {
  const char* scale = bar >= 19 ? "0.001% to 100%, log" : (bar >= 3 ? "log" : "");
  return {fmt::format("{:>4} {:>8} {:<{}}{}{:>9} {:>8} {:>8} {:>10} {:>9} {:>11} {:>9} {:>9}", "CPU", "noise", scale,
                      bar, bar > 0 ? " " : "", "detours/s", "largest", "ever", "hypervisor", "overhead", "unexplained",
                      "hardware", "explained"),
          TopStyle::heading};
}

TopLine source_heading() {
  return {fmt::format("{:>4} {:>9} {:>9} {:>12} {:>8} {:>8}  {:<28} {}", "CPU", "share", "rate/s", "stolen/s", "mean",
                      "max", "source", "category"),
          TopStyle::heading};
}

TopLine source_line(const TopSource& source) {
  const auto stolen_ns = static_cast<std::uint64_t>(std::llround(1e9 * source.stolen_share));
  const bool quiet = source.count == 0;
  return {
      fmt::format("{:>4} {:>9} {:>9.1f} {:>12} {:>8} {:>8}  {:<28} {}", source.cpu, format_share(source.stolen_share),
                  source.per_second, format_duration(stolen_ns) + "/s", quiet ? "-" : format_duration(source.mean_ns),
                  format_duration(source.max_ns), source.label, source.category),
      quiet ? TopStyle::faint : TopStyle::plain};
}

// Many CPUs must leave room for the sources: they get at most half the screen.
std::size_t cpu_rows(const TopModel& model, std::size_t height) {
  return std::min(model.cpus().size(), std::max<std::size_t>(1, height / 2));
}

void add_cpus(const TopModel& model, std::size_t width, std::size_t height, std::vector<TopLine>& lines) {
  const std::size_t bar = bar_width(width);
  lines.push_back(cpu_heading(bar));
  const std::vector<TopCpu> cpus = model.cpus();
  const std::size_t rows = cpu_rows(model, height);
  for (std::size_t i = 0; i < rows; ++i) {
    if (i + 1 == rows && rows < cpus.size())
      lines.push_back({fmt::format("     and {} more: c shows one at a time", cpus.size() - i), TopStyle::faint});
    else
      lines.push_back(cpu_line(cpus[i], bar));
  }
}

// Everything above the sources; the same lines decide how many sources fit.
std::vector<TopLine> head(const TopModel& model, std::size_t width, std::size_t height) {
  std::vector<TopLine> lines{{title(model), TopStyle::title}};
  if (!model.problem().empty()) lines.push_back({model.problem() + " (trying again)", TopStyle::alarm});
  if (model.help()) {
    lines.push_back(
        {"s sort  t stolen  r rate  m mean  x max  n name  p pause  c cpu  f category  q quit", TopStyle::good});
    lines.push_back({"arrows, PgUp, PgDn, Home scroll  ? hides this", TopStyle::good});
  }
  if (model.sample() == nullptr) {
    if (model.problem().empty()) lines.push_back({"waiting for the daemon", TopStyle::plain});
    return lines;
  }
  lines.push_back(lost(model.sample()->report));
  lines.push_back(
      {settings(model) + (model.help() ? "" : "  (? help)"), model.paused() ? TopStyle::alarm : TopStyle::plain});
  add_cpus(model, width, height, lines);
  lines.push_back(source_heading());
  return lines;
}

}  // namespace

std::string share_bar(double share, std::size_t width) {
  constexpr double kDecades = 5;
  const double filled = share <= 0 ? 0 : std::clamp(1 + std::log10(share) / kDecades, 0.0, 1.0);
  const auto length = static_cast<std::size_t>(std::lround(filled * static_cast<double>(width)));
  return std::string(length, '#') + std::string(width - length, '.');
}

std::size_t source_rows(const TopModel& model, std::size_t height) {
  const std::size_t above = head(model, 0, height).size();
  return height > above ? height - above : 0;
}

std::vector<TopLine> lay_out(const TopModel& model, std::size_t width, std::size_t height) {
  std::vector<TopLine> lines = head(model, width, height);
  if (model.sample() != nullptr) {
    const std::vector<TopSource> sources = model.sources();
    if (sources.empty()) lines.push_back({"no source yet", TopStyle::faint});
    for (std::size_t i = model.scroll_position(); i < sources.size() && lines.size() < height; ++i)
      lines.push_back(source_line(sources[i]));
  }
  if (lines.size() > height) lines.resize(height);
  for (TopLine& line : lines) line.text = views::printable(line.text).substr(0, width);
  return lines;
}

}  // namespace noised::client
