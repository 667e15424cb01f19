// SPDX-License-Identifier: Apache-2.0
// Phases for people: the paper's table 2, its figure 3 in words, its table 3, and then what it could not tell.
#include <fmt/format.h>

#include "views/format.h"
#include "views/phases.h"
#include "views/report_tables.h"
#include "views/table.h"
#include "views/views.h"

namespace noised::views {
namespace {

using Align = Table::Align;

std::string in_minimum(double ns, std::uint64_t minimum_ns) {
  return minimum_ns == 0 ? "-" : fmt::format("{:.4f}", ns / static_cast<double>(minimum_ns));
}

std::string statistics_text(const PhaseDurations& durations) {
  const Moments& moments = durations.moments();
  Table table({{"", Align::left},
               {"average", Align::right},
               {"median", Align::right},
               {"stddev", Align::right},
               {"minimum", Align::right},
               {"maximum", Align::right}});
  table.add({"a phase (ns)", std::to_string(moments.mean_ns()), std::to_string(durations.median_ns()),
             std::to_string(moments.stddev_ns()), std::to_string(moments.min_ns()), std::to_string(moments.max_ns())});
  const std::uint64_t least_ns = moments.min_ns();
  table.add({"in minima", in_minimum(static_cast<double>(moments.mean_ns()), least_ns),
             in_minimum(static_cast<double>(durations.median_ns()), least_ns), in_minimum(moments.stddev(), least_ns),
             in_minimum(static_cast<double>(least_ns), least_ns),
             in_minimum(static_cast<double>(moments.max_ns()), least_ns)});
  return table.text();
}

std::string survival_text(const PhaseDurations& durations) {
  Table table({{"p", Align::right}, {"a phase is longer than", Align::right}, {"95% interval", Align::left}});
  std::string silent;
  for (const Survival& point : durations.survival()) {
    if (!point.longer_than_ns) {
      silent += fmt::format("{}{:.0e} ({} phases)", silent.empty() ? "" : ", ", point.p, point.phases_needed);
      continue;
    }
    table.add({fmt::format("{:.0e}", point.p), format_duration(*point.longer_than_ns),
               format_duration(point.low_ns) + " to " + format_duration(point.high_ns)});
  }
  return "\n" + table.text() + (silent.empty() ? "" : "too few phases to speak of p = " + silent + "\n");
}

std::string exceeding_text(const PhaseDurations& durations) {
  Table table({{"longer than the work (2nd decile)", Align::left},
               {"above", Align::right},
               {"phases", Align::right},
               {"p", Align::right},
               {"95% interval", Align::left}});
  for (const Exceeding& each : durations.exceeding()) {
    table.add({fmt::format("by {:.0f}%", 100 * each.share), format_duration(each.above_ns), std::to_string(each.phases),
               fmt::format("{:.3g}", each.p), fmt::format("{:.3g} to {:.3g}", each.low, each.high)});
  }
  return "\n" + table.text();
}

std::string direct_text(const CpuPhases& cpu) {
  Table table({{"source", Align::left},
               {"count", Align::right},
               {"direct cost", Align::right},
               {"of the time", Align::right},
               {"outside", Align::right},
               {"", Align::right},
               {"in the ledger", Align::right},
               {"", Align::right}});
  const std::uint64_t all_ns = cpu.analysis->durations().moments().total_ns();
  for (const PhaseDirect& each : cpu.direct) {
    const auto time = [&](std::uint64_t ns) { return each.timed ? format_duration(ns) : std::string("-"); };
    table.add({printable(each.kind + ":" + each.name), std::to_string(each.cost.count), time(each.cost.self_ns),
               each.timed ? format_share(ratio(each.cost.self_ns, all_ns)) : "-",
               std::to_string(each.cost.outside_count), time(each.cost.outside_ns), std::to_string(each.ledger_count),
               time(each.ledger_ns)});
  }
  return "\ndirect cost: self times in phases; with those outside of phases they are the ledger's\n" + table.text();
}

std::string indirect_text(const CpuPhases& cpu) {
  const PhaseEpisodes& episodes = cpu.analysis->episodes();
  Table table({{"source", Align::left},
               {"episodes", Align::right},
               {"direct", Align::right},
               {"indirect (95% interval)", Align::left},
               {"of it in the detour", Align::left},
               {"after it", Align::left}});
  std::string silent;
  for (const PhaseIndirect& each : cpu.indirect) {
    const std::string name = names_text(each);
    const std::string why = no_cost_text(each.cost.why_not);
    if (!why.empty()) {
      silent += fmt::format("{} ({}): {}\n", name, each.cost.episodes, why);
      continue;
    }
    table.add({name, std::to_string(each.cost.episodes), each.direct_ns ? signed_duration(*each.direct_ns) : "-",
               estimate_text(each.cost.indirect), estimate_text(each.cost.inside), estimate_text(each.cost.after)});
  }
  const std::string head = fmt::format(
      "\nindirect cost of an activation: phases with it{} against {} quiet ones, less the direct cost, and less what "
      "came with it\n",
      episodes.reach() == 0 ? "" : fmt::format(" and the {} after it", episodes.reach()), episodes.quiet().count());
  return head + table.text() + silent;
}

std::string fit_text(const CpuPhases& cpu) {
  std::string text;
  if (cpu.base_ns && cpu.length_bias_ns) {
    text += fmt::format(
        "a phase to which nothing happens takes {}; taken out: {}, as a phase that is longer for another reason is "
        "likelier to be hit\n",
        signed_duration(*cpu.base_ns), signed_duration(*cpu.length_bias_ns));
  }
  const EpisodesLeftOut& left_out = cpu.analysis->episodes().left_out();
  if (left_out.in_doubt + left_out.edges + left_out.endless + left_out.too_many != 0) {
    text += fmt::format(
        "phases left out of this comparison: {} around incomplete detours, {} at the edges of a series, {} in episodes "
        "without end, {} in too many kinds of episodes\n",
        left_out.in_doubt, left_out.edges, left_out.endless, left_out.too_many);
  }
  return text;
}

}  // namespace

std::string to_text(const std::vector<CpuPhases>& cpus, const PhaseSetting& setting, const Report& report) {
  std::string text = report_head(report);
  for (const CpuPhases& cpu : cpus) {
    const PhaseDurations& durations = cpu.analysis->durations();
    text += fmt::format("\nCPU {}: {} phases of {} iterations of the loop{}\n", cpu.cpu, durations.moments().count(),
                        cpu.iterations, setting_text(setting));
    if (durations.moments().count() == 0) continue;
    text += fmt::format("the work takes {} (mean of the 2nd decile)\n\n",
                        signed_duration(durations.calibrated_ns().value_or(0)));
    text += statistics_text(durations) + survival_text(durations) + exceeding_text(durations) + direct_text(cpu) +
            indirect_text(cpu) + fit_text(cpu);
  }
  return text + report_tail(report);
}

}  // namespace noised::views
