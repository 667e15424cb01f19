// SPDX-License-Identifier: Apache-2.0
// How long phases of fixed work are, and what each source costs them: as noisectl phases tells it.
#include <fmt/format.h>

#include <algorithm>

#include "page/html.h"
#include "page/page.h"
#include "views/text.h"

namespace noised::page {
namespace {

std::string range_html(const std::optional<analysis::CostEstimate>& estimate) {
  if (!estimate) return "-";
  return fmt::format("{} ({} to {})", signed_duration_html(estimate->ns), signed_duration_html(estimate->low_ns),
                     signed_duration_html(estimate->high_ns));
}

std::string head_html(const views::CpuPhases& cpu, const views::PhaseSetting& setting) {
  const analysis::PhaseDurations& durations = cpu.analysis->durations();
  const Moments& moments = durations.moments();
  std::string html =
      fmt::format("<h3>CPU {}: {} phases of {} iterations of the loop{}</h3>\n", cpu.cpu, grouped(moments.count()),
                  grouped(cpu.iterations), escape_html(views::setting_text(setting)));
  if (moments.count() == 0) return html;
  return html + fmt::format(
                    "<p class=\"remark\">The work takes {} (mean of the 2nd decile). A phase takes {} in the mean "
                    "(median {}, deviation {}), {} to {}.</p>\n",
                    signed_duration_html(durations.calibrated_ns().value_or(0)), duration_html(moments.mean_ns()),
                    duration_html(durations.median_ns()), duration_html(moments.stddev_ns()),
                    duration_html(moments.min_ns()), duration_html(moments.max_ns()));
}

std::string exceeding_table(const analysis::PhaseDurations& durations) {
  TableWriter table("p, that a phase is longer than the work", {"by", ">above", ">phases", ">p", ">95% interval"});
  for (const analysis::Exceeding& each : durations.exceeding()) {
    table.row({fmt::format("{:g}%", 100 * each.share), duration_html(each.above_ns), grouped(each.phases),
               fmt::format("{:.3g}", each.p.value), fmt::format("{:.3g} to {:.3g}", each.p.low, each.p.high)});
  }
  return table.finish();
}

std::string survival_table(const analysis::PhaseDurations& durations) {
  TableWriter table("With this probability a phase is longer", {">p", ">than", ">95% interval"});
  for (const analysis::Survival& point : durations.survival()) {
    const std::string p = fmt::format("{:.0e}", point.p);
    if (point.longer_than_ns) {
      table.row({p, duration_html(*point.longer_than_ns),
                 duration_html(point.low_ns) + " to " + duration_html(point.high_ns)});
    } else {
      table.row({p, "-", fmt::format("needs {} phases", grouped(point.phases_needed))});
    }
  }
  return table.finish();
}

std::string joined(const std::vector<std::string>& sources) {
  std::string html;
  for (const std::string& source : sources) html += (html.empty() ? "" : " + ") + code_html(source);
  return html;
}

std::string indirect_table(const views::CpuPhases& cpu) {
  TableWriter table(fmt::format("What an activation costs a phase of CPU {}", cpu.cpu),
                    {"source", ">episodes", ">direct", "indirect (95% interval)", "of it in the detour", "after it"});
  for (std::size_t i = 0; i < std::min(cpu.indirect.size(), kMostPhaseSources); ++i) {
    const views::PhaseIndirect& each = cpu.indirect[i];
    const std::string why = views::no_cost_text(each.cost.why_not);
    const std::string direct = each.direct_ns ? signed_duration_html(*each.direct_ns) : "-";
    const bool known = why.empty();
    table.row({joined(each.sources), grouped(each.cost.episodes), direct,
               known ? range_html(each.cost.indirect) : escape_html(why), known ? range_html(each.cost.inside) : "",
               known ? range_html(each.cost.after) : ""});
  }
  const analysis::PhaseEpisodes& episodes = cpu.analysis->episodes();
  return table.finish(fmt::format(
      "Direct: self time. Indirect: phases with it{} against {} quiet ones, less the direct cost, and less what came "
      "with it.",
      episodes.reach() == 0 ? "" : fmt::format(" and the {} after it", episodes.reach()),
      grouped(episodes.quiet().count())));
}

std::string direct_table(const views::CpuPhases& cpu) {
  TableWriter table("Direct cost: self times in phases; with those outside of phases they are the ledger's",
                    {"source", ">count", ">direct cost", ">of the time", ">outside", ">in the ledger"});
  const std::uint64_t all_ns = cpu.analysis->durations().moments().total_ns();
  for (std::size_t i = 0; i < std::min(cpu.direct.size(), kMostPhaseSources); ++i) {
    const views::PhaseDirect& each = cpu.direct[i];
    const auto time = [&](std::uint64_t ns) { return each.timed ? duration_html(ns) : std::string("not timed"); };
    table.row({code_html(each.kind + ":" + each.name), grouped(each.cost.count), time(each.cost.self_ns),
               each.timed ? escape_html(views::format_share(views::ratio(each.cost.self_ns, all_ns))) : "-",
               time(each.cost.outside_ns), time(each.ledger_ns)});
  }
  if (cpu.direct.size() <= kMostPhaseSources) return table.finish();
  return table.finish(fmt::format("{} more sources took less.", cpu.direct.size() - kMostPhaseSources));
}

std::string cpu_html(const views::CpuPhases& cpu, const views::PhaseSetting& setting) {
  const analysis::PhaseDurations& durations = cpu.analysis->durations();
  if (durations.moments().count() == 0) return head_html(cpu, setting);
  return head_html(cpu, setting) + exceeding_table(durations) + indirect_table(cpu) +
         fmt::format("<details><summary>Tables of durations and of direct cost, CPU {}</summary>", cpu.cpu) +
         survival_table(durations) + direct_table(cpu) + "</details>\n";
}

}  // namespace

std::string phase_tables(const PageInput& input) {
  const std::vector<views::CpuPhases>& cpus = input.phases.cpus;
  if (cpus.empty()) {
    return "<p class=\"remark\">Nothing was measured in phases of fixed work, which tell what a source costs besides "
           "its own time: <code>noisectl record --grain 1ms</code> records them.</p>\n";
  }
  std::string html;
  for (std::size_t i = 0; i < std::min(cpus.size(), kMostPhaseCpus); ++i)
    html += cpu_html(cpus[i], input.phases.setting);
  if (cpus.size() > kMostPhaseCpus) {
    html += fmt::format("<p class=\"remark\">{} more CPUs are shown by <code>noisectl phases</code>.</p>\n",
                        cpus.size() - kMostPhaseCpus);
  }
  return html;
}

}  // namespace noised::page
