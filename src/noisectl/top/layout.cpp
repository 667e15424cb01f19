// SPDX-License-Identifier: Apache-2.0
// Settings, CPUs, then as many sources as fit.
#include "noisectl/top/layout.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "model/json_parts.h"
#include "noisectl/top/page.h"
#include "views/lost.h"
#include "views/own.h"
#include "views/sources.h"
#include "views/text.h"
#include "views/views.h"

namespace noised::client {
namespace {

std::string title(const TopModel& model) {
  const TopSample* sample = model.sample();
  if (sample == nullptr) return "noised";
  const Report& report = sample->report;
  if (sample->replay) {
    return fmt::format("recording  {}  kernel {}  at {}, {:.2f} times as fast", report.host, report.kernel,
                       views::format_duration(sample->replay->position_ns), sample->replay->speed);
  }
  std::string text =
      fmt::format("noised  {}  kernel {}  up {}", report.host, report.kernel,
                  views::format_duration(sample->status ? sample->status->uptime_ns : report.elapsed_ns));
  if (sample->status) text += "  housekeeping cpus " + sample->status->housekeeping_cpus;
  return text;
}

// A recording has an end, and the screen stays.
void add_end(const TopReplay& replay, std::vector<TopLine>& lines) {
  if (!replay.problem.empty()) lines.push_back({replay.problem, TopStyle::alarm});
  if (replay.ended) lines.push_back({"the recording ends here", TopStyle::title});
}

TopLine lost(const Report& report) {
  const bool any = views::anything_lost(report.lost);
  return {(any ? "LOST: " : "lost: ") + views::lost_text(report.lost), any ? TopStyle::alarm : TopStyle::good};
}

TopLine own(const Report& report) {
  return {"taken by noised and noisectl: " + views::own_noise_text(report.sources, views::stolen_ns_of_all(report)),
          TopStyle::plain};
}

}  // namespace

std::vector<TopLine> page_head(const TopModel& model) {
  std::vector<TopLine> lines{{title(model), TopStyle::title}};
  if (model.sample() != nullptr && model.sample()->replay) add_end(*model.sample()->replay, lines);
  if (!model.problem().empty()) lines.push_back({model.problem() + " (trying again)", TopStyle::alarm});
  if (model.help()) {
    lines.push_back({"s sort  t stolen  r rate  m mean  x max  n name  c cpu  f category  p pause", TopStyle::good});
    lines.push_back(
        {"arrows, j, k, PgUp, PgDn, Home, End move  Enter opens a source, with its chains", TopStyle::good});
    lines.push_back({"Esc, q, Backspace go back  ? hides this", TopStyle::good});
  }
  if (model.sample() != nullptr) {
    std::string blind = views::blind_text(model.sample()->report.lost);
    if (!blind.empty()) lines.push_back({std::move(blind), TopStyle::alarm});
  }
  if (model.sample() != nullptr) {
    lines.push_back(lost(model.sample()->report));
    lines.push_back(own(model.sample()->report));
  } else if (model.problem().empty())
    lines.push_back({"waiting for the first figures", TopStyle::plain});
  return lines;
}

std::string interval_text(const TopModel& model) {
  return model.since_start() ? std::string("since start") : "last " + views::format_duration(model.delta().interval_ns);
}

std::vector<TopLine> fit_to_screen(std::vector<TopLine> lines, const std::string& keys, std::size_t width,
                                   std::size_t height) {
  lines.resize(height < 2 ? std::min(lines.size(), height) : height - 1);
  if (height >= 2) lines.push_back({keys, TopStyle::faint});
  for (TopLine& line : lines) line.text = printable(line.text).substr(0, width);
  return lines;
}

std::size_t rows_between(std::size_t above, std::size_t height) { return height > above + 1 ? height - above - 1 : 0; }

namespace {

using views::format_duration;
using views::format_share;

constexpr std::size_t kWidestBar = 20;
constexpr std::size_t kColumnsBesideBar = 75;  // up to and with "unexplained"

constexpr const char* kTableKeys = "arrows select  Enter open  s sort  c cpu  f category  p pause  ? keys  q quit";

std::string settings(const TopModel& model) {
  std::string text = fmt::format("{}  sort: {}", interval_text(model), to_string(model.sort()));
  if (model.cpu_filter()) text += fmt::format("  cpu: {}", *model.cpu_filter());
  if (!model.category_filter().empty()) text += "  category: " + model.category_filter();
  if (model.paused()) text += "  PAUSED";
  return text;
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

// The mark says it on terminals that know no styles.
TopLine source_line(const TopSource& source, bool selected) {
  const auto stolen_ns = static_cast<std::uint64_t>(std::llround(1e9 * source.stolen_share));
  const bool quiet = source.count == 0;
  return {fmt::format("{}{:>3} {:>9} {:>9.1f} {:>12} {:>8} {:>8}  {:<28} {}", selected ? '>' : ' ', source.key.cpu,
                      format_share(source.stolen_share), source.per_second, format_duration(stolen_ns) + "/s",
                      quiet ? "-" : format_duration(source.mean_ns), format_duration(source.max_ns), source.key.label,
                      source.category),
          selected ? TopStyle::selected : (quiet ? TopStyle::faint : TopStyle::plain)};
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
  std::vector<TopLine> lines = page_head(model);
  if (model.sample() == nullptr) return lines;
  lines.push_back({settings(model), model.paused() ? TopStyle::alarm : TopStyle::plain});
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

std::size_t visible_rows(const TopModel& model, std::size_t height) {
  if (model.opened()) return chain_rows(model, height);
  return rows_between(head(model, 0, height).size(), height);
}

std::vector<TopLine> lay_out(const TopModel& model, std::size_t width, std::size_t height) {
  if (model.opened()) return lay_out_page(model, width, height);
  std::vector<TopLine> lines = head(model, width, height);
  if (model.sample() != nullptr) {
    const std::vector<TopSource> sources = model.sources();
    const std::size_t selected = model.selection();
    if (sources.empty()) lines.push_back({"no source yet", TopStyle::faint});
    for (std::size_t i = model.scroll_position(); i < sources.size() && lines.size() < height; ++i)
      lines.push_back(source_line(sources[i], i == selected));
  }
  return fit_to_screen(std::move(lines), kTableKeys, width, height);
}

}  // namespace noised::client
