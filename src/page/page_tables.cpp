// SPDX-License-Identifier: Apache-2.0
// The figures as tables. Where rows are left out, a row or a remark says how many and how much.
#include "page/page_tables.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "model/json_parts.h"
#include "page/html.h"
#include "page/page.h"
#include "views/lost.h"
#include "views/own.h"
#include "views/sources.h"
#include "views/text.h"

namespace noised::page {
namespace {

std::vector<std::string> source_row(const PageInput& input, const MergedSource& source) {
  const auto time = [&](std::uint64_t ns) { return source.timed ? duration_html(ns) : "not timed"; };
  return {category_html(source.category),
          code_html(source.kind + ":" + source.name),
          grouped(source.count),
          escape_html(views::format_rate(source.count, views::observed_ns_of_all(input.report))),
          time(source.total_ns),
          time(source.min_ns),
          time(source.mean_ns),
          time(source.max_ns),
          source.timed ? share_html(source.total_ns, views::stolen_ns_of_all(input.report)) : "-"};
}

std::set<Category> untimed_categories(const Merged& merged) {
  std::set<Category> categories;
  for (const MergedSource& source : merged.sources) {
    if (!source.timed) categories.insert(source.category);
  }
  return categories;
}

// What the rows do not show, so that the column still adds up.
std::vector<std::string> other_sources_row(const PageInput& input) {
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  const std::vector<MergedSource>& sources = input.merged.sources;
  for (std::size_t i = kMostSources; i < sources.size(); ++i) {
    count += sources[i].count;
    total_ns += sources[i].total_ns;
  }
  return {"",
          fmt::format("{} other sources", sources.size() - kMostSources),
          grouped(count),
          "",
          duration_html(total_ns),
          "",
          "",
          "",
          share_html(total_ns, views::stolen_ns_of_all(input.report))};
}

}  // namespace

std::string category_table(const PageInput& input) {
  const Report& report = input.report;
  TableWriter table("Stolen time by category, all CPUs", {"category", ">time", ">of stolen time", ">of observed time"});
  const std::set<Category> untimed = untimed_categories(input.merged);
  for (std::size_t i = 0; i < kCategoryCount; ++i) {
    const std::uint64_t ns = input.merged.all.categories[i];
    if (ns == 0 && untimed.contains(static_cast<Category>(i)))
      table.row({category_html(static_cast<Category>(i)), "not timed", "-", "-"});
    if (ns == 0) continue;
    table.row({category_html(static_cast<Category>(i)), duration_html(ns),
               share_html(ns, views::stolen_ns_of_all(report)), share_html(ns, views::observed_ns_of_all(report))});
  }
  table.sum({"all", duration_html(views::stolen_ns_of_all(report)),
             share_html(views::stolen_ns_of_all(report), views::stolen_ns_of_all(report)),
             share_html(views::stolen_ns_of_all(report), views::observed_ns_of_all(report))});
  return table.finish();
}

std::string cpu_table(const PageInput& input) {
  const Report& report = input.report;
  TableWriter table("CPUs", {">CPU", ">observed", ">not observed", ">threshold", ">detours", ">stolen",
                             ">of observed time", ">longest", ">steal time counted", ">SMI"});
  const std::vector<std::size_t> shown = shown_cpus(report);
  std::uint64_t shown_ns = 0;
  for (const std::size_t place : shown) {
    const ReportCpu& cpu = report.cpus[place];
    shown_ns += cpu.detour_ns;
    table.row({std::to_string(cpu.cpu), duration_html(cpu.observed_ns), duration_html(cpu.blind_ns),
               duration_html(cpu.threshold_ns), grouped(cpu.detours), duration_html(cpu.detour_ns),
               share_html(cpu.detour_ns, cpu.observed_ns), duration_html(cpu.max_detour_ns),
               duration_html(cpu.steal_ns), cpu.smi_count ? grouped(*cpu.smi_count) : "not known"});
  }
  if (shown.size() == report.cpus.size()) return table.finish();
  return table.finish(fmt::format("{} CPUs with less stolen time, {} ns in all, are not shown one by one.",
                                  report.cpus.size() - shown.size(),
                                  grouped(views::stolen_ns_of_all(report) - shown_ns)));
}

std::string source_table(const PageInput& input) {
  TableWriter table("Sources by stolen time, all CPUs", {"category", "source", ">count", ">per second", ">total",
                                                         ">min", ">mean", ">max", ">of stolen time"});
  const std::vector<MergedSource>& sources = input.merged.sources;
  for (std::size_t i = 0; i < std::min(sources.size(), kMostSources); ++i) table.row(source_row(input, sources[i]));
  if (sources.size() > kMostSources) table.row(other_sources_row(input));
  return table.finish("Per second: of observed time of one CPU. Times are self times: what is nested has its own row.");
}

std::string tail_table(const PageInput& input) {
  TableWriter table("Tails: self times above the 99th percentile, all CPUs",
                    {"source", ">99th percentile", ">above it", ">their sum", ">of the source's time", ">longest"});
  std::size_t rows = 0;
  for (const MergedSource& source : input.merged.sources) {
    if (source.tail_count == 0 || rows++ >= kMostSources) continue;
    table.row({code_html(source.kind + ":" + source.name), duration_html(source.p99_ns), grouped(source.tail_count),
               duration_html(source.tail_ns), share_html(source.tail_ns, source.total_ns),
               duration_html(source.max_ns)});
  }
  return table.finish(
      rows > kMostSources ? fmt::format("{} sources with less stolen time have tails too.", rows - kMostSources) : "");
}

std::string combination_table(const PageInput& input) {
  const std::vector<ReportCombination>& combinations = input.report.combinations;
  TableWriter table("What came together in one detour, all CPUs",
                    {"sources, in order of their start", ">detours", ">total", ">longest", ">of stolen time"});
  std::uint64_t detours = 0;
  std::uint64_t total_ns = 0;
  for (std::size_t i = 0; i < combinations.size(); ++i) {
    const ReportCombination& it = combinations[i];
    if (i < kMostCombinations) {
      table.row({sources_html(it.sources), grouped(it.count), duration_html(it.total_ns), duration_html(it.max_ns),
                 share_html(it.total_ns, views::stolen_ns_of_all(input.report))});
    } else {
      detours += it.count;
      total_ns += it.total_ns;
    }
  }
  if (detours != 0) {
    table.row({fmt::format("{} other combinations", combinations.size() - kMostCombinations), grouped(detours),
               duration_html(total_ns), "", share_html(total_ns, views::stolen_ns_of_all(input.report))});
  }
  return table.finish();
}

std::string detour_table(const PageInput& input) {
  const std::vector<LongDetour> longest = input.collector.longest().sorted();
  TableWriter table("The longest detours", {">at", ">CPU", ">duration", "what it was"});
  for (std::size_t i = 0; i < std::min(longest.size(), kMostListedDetours); ++i) {
    const DetourView& view = longest[i].view;
    table.row({duration_html(view.start_ns - input.collector.first_ns()), std::to_string(view.cpu),
               duration_html(view.duration_ns),
               entries_html(view, input.merged.untimed) + (view.incomplete ? " <em>(incomplete)</em>" : "")});
  }
  return table.finish("At: since the first time that was observed.");
}

namespace {

std::string or_unknown(const std::string& text) { return text.empty() ? "not known" : escape_html(text); }

std::string thresholds(const Report& report) {
  if (report.cpus.empty()) return "not known";
  std::uint64_t low_ns = report.cpus.front().threshold_ns;
  std::uint64_t high_ns = low_ns;
  for (const ReportCpu& cpu : report.cpus) {
    low_ns = std::min(low_ns, cpu.threshold_ns);
    high_ns = std::max(high_ns, cpu.threshold_ns);
  }
  if (low_ns == high_ns) return duration_html(low_ns);
  return duration_html(low_ns) + " to " + duration_html(high_ns) + ", depending on the CPU";
}

std::string clock(const ReportClock& clock) {
  std::string html = escape_html(clock.source) + ", uncertainty " + duration_html(clock.uncertainty_ns);
  if (!clock.containment) return html + "; containment not known: no interval to check";
  return html + fmt::format("; containment {} of intervals lie inside exactly one detour",
                            views::format_containment(*clock.containment));
}

std::string losses(const ReportLost& lost) {
  std::string html = escape_html(views::lost_totals_text(lost));
  constexpr std::size_t kMost = 100;
  for (std::size_t i = 0; i < lost.by.size() && i < kMost; ++i)
    html += "<br>" + escape_html(views::loss_text(lost.by[i]));
  if (lost.by.size() > kMost) html += fmt::format("<br>and {} more lines", lost.by.size() - kMost);
  return html;
}

std::string unsupported(const std::vector<std::string>& lines) {
  if (lines.empty()) return "nothing: everything was seen";
  std::string html;
  for (const std::string& line : lines) html += (html.empty() ? "" : "<br>") + escape_html(line);
  return html;
}

std::string loop(const StatusView& status) {
  return fmt::format(
      "scheduling policy {}, running {}% of the time, on CPUs {}; ring buffers of {} bytes, drained every {}",
      or_unknown(status.policy), status.duty_percent, or_unknown(status.probe_cpus), grouped(status.buffer_bytes),
      duration_html(status.drain_interval_ns));
}

}  // namespace

void add_machine_rows(TableWriter& table, const Report& report, const StatusView& status,
                      const recording::Description& description) {
  table.row({"host", or_unknown(report.host)});
  table.row({"kernel", or_unknown(report.kernel)});
  table.row({"boot parameters", or_unknown(description.boot_parameters)});
  table.row({"processor", or_unknown(description.processor)});
  table.row({"noised", or_unknown(status.version)});
  table.row({"started", or_unknown(report.start)});
  table.row({"lasted", duration_html(report.elapsed_ns)});
}

void add_own_row(TableWriter& table, std::span<const ReportSource> sources, std::uint64_t stolen_ns) {
  table.row({"taken by noised and noisectl", escape_html(views::own_noise_text(sources, stolen_ns))});
}

void add_lost_row(TableWriter& table, const ReportLost& lost) { table.row({"lost", losses(lost)}); }

void add_unsupported_row(TableWriter& table, const std::vector<std::string>& lines) {
  table.row({"not supported, or damaged", unsupported(lines)});
}

std::string about_table(const PageInput& input) {
  const Report& report = input.report;
  TableWriter table("About this measurement", {"what", "value"});
  add_machine_rows(table, report, input.status, input.description);
  table.row({"observed", fmt::format("{} on {} CPUs ({} CPU time observed)",
                                     duration_html(input.collector.last_ns() - input.collector.first_ns()),
                                     report.cpus.size(), duration_html(views::observed_ns_of_all(report)))});
  table.row({"loop", loop(input.status)});
  table.row({"detour threshold", thresholds(report)});
  table.row({"clock", clock(report.clock)});
  add_own_row(table, report.sources, views::stolen_ns_of_all(report));
  add_lost_row(table, report.lost);
  table.row({"intervals outside every detour", grouped(input.status.orphan_intervals)});
  add_unsupported_row(table, report.unsupported);
  return table.finish();
}

}  // namespace noised::page
