// SPDX-License-Identifier: Apache-2.0
// What was analysed, with names and figures of the report.
#include "views/phases.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "model/combinations.h"
#include "model/json_fields.h"
#include "model/json_parts.h"
#include "views/lost.h"
#include "views/report.h"
#include "views/text.h"
#include "views/views.h"

namespace noised::views {
namespace {

std::string phase_label(const SourceTable& sources, SourceId id) {
  if (id == kOtherSource) return "others";
  return fmt::format("{}:{}", to_string(sources.at(id).kind), sources.at(id).name);
}

std::vector<PhaseDirect> direct_of(unsigned cpu, const analysis::PhaseAnalysis& analysis, const SourceTable& sources,
                                   const Report& report) {
  std::vector<PhaseDirect> all;
  for (SourceId id = 0; id < analysis.direct().size(); ++id) {
    const analysis::DirectCost& cost = analysis.direct()[id];
    if (cost.count + cost.outside_count == 0) continue;
    const Source& source = sources.at(id);
    PhaseDirect direct{std::string(to_string(source.category)), std::string(to_string(source.kind)), source.name, cost};
    for (const ReportSource& told : report.sources) {
      if (told.cpu != cpu || told.kind != direct.kind || told.name != direct.name) continue;
      direct.ledger_count = told.count;
      direct.ledger_ns = told.total_ns;
      direct.timed = told.kind != "page_fault" || told.max_ns != 0;
    }
    all.push_back(std::move(direct));
  }
  std::sort(all.begin(), all.end(), [](const PhaseDirect& a, const PhaseDirect& b) {
    return std::tie(b.cost.self_ns, b.cost.count, a.kind, a.name) <
           std::tie(a.cost.self_ns, a.cost.count, b.kind, b.name);
  });
  return all;
}

PhaseIndirect named(analysis::IndirectCost cost, const std::vector<analysis::DirectCost>& direct,
                    const SourceTable& sources) {
  PhaseIndirect result;
  double direct_ns = 0;
  for (std::size_t i = 0; i < cost.sources.size(); ++i) {
    const SourceId id = cost.sources[i];
    result.sources.push_back(phase_label(sources, id));
    if (id < direct.size() && direct[id].count != 0)
      direct_ns += cost.each[i] * static_cast<double>(direct[id].self_ns) / static_cast<double>(direct[id].count);
  }
  if (direct_ns > 0) result.direct_ns = direct_ns;
  result.cost = std::move(cost);
  return result;
}

}  // namespace

CpuPhases phases_of(unsigned cpu, const analysis::PhaseAnalysis& analysis, const SourceTable& sources,
                    const Report& report) {
  CpuPhases result;
  result.cpu = cpu;
  result.analysis = &analysis;
  result.direct = direct_of(cpu, analysis, sources, report);
  analysis::IndirectCosts costs = analysis::indirect_costs(analysis.episodes());
  result.base_ns = costs.base_ns;
  result.length_bias_ns = costs.length_bias_ns;
  for (analysis::IndirectCost& cost : costs.sources)
    result.indirect.push_back(named(std::move(cost), analysis.direct(), sources));
  return result;
}

std::string setting_text(const PhaseSetting& setting) {
  std::string text;
  if (setting.grain_ns) text += ", calibrated to " + format_duration(*setting.grain_ns);
  if (setting.footprint_bytes) {
    text += *setting.footprint_bytes == 0 ? ", no footprint"
                                          : fmt::format(", footprint {} KiB", *setting.footprint_bytes / 1024);
  }
  if (!setting.policy.empty()) text += ", policy " + setting.policy;
  return text;
}

std::string names_text(const PhaseIndirect& cost) {
  return printable(fmt::format("{}", fmt::join(cost.sources, " + ")));
}

std::string estimate_text(const std::optional<analysis::CostEstimate>& estimate) {
  if (!estimate) return "-";
  return fmt::format("{} ({} to {})", signed_duration(estimate->ns), signed_duration(estimate->low_ns),
                     signed_duration(estimate->high_ns));
}

std::string no_cost_text(analysis::NoCost why) {
  switch (why) {
    case analysis::NoCost::few:
      return "too few episodes (30 are needed)";
    case analysis::NoCost::always:
      return "no phase is without it: choose a grain below its period";
    case analysis::NoCost::never_quiet:
      return "no phase is without any source: choose a shorter grain";
    case analysis::NoCost::tangled:
      return "it comes with others, not always the same, and cannot be told from them";
    case analysis::NoCost::none:
      break;
  }
  return "";
}

namespace {

Json rounded(double ns) { return static_cast<std::int64_t>(std::llround(ns)); }

template <typename Value>
Json nullable(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json nullable_ns(const std::optional<double>& ns) { return ns ? rounded(*ns) : Json(nullptr); }

Json estimate_json(const std::optional<analysis::CostEstimate>& estimate) {
  if (!estimate) return nullptr;
  return Json{
      {"ns", rounded(estimate->ns)}, {"low_ns", rounded(estimate->low_ns)}, {"high_ns", rounded(estimate->high_ns)}};
}

Json survival_json(const analysis::PhaseDurations& durations) {
  Json points = Json::array();
  for (const analysis::Survival& point : durations.survival()) {
    const bool known = point.longer_than_ns.has_value();
    points.push_back({{"p", point.p},
                      {"phases_needed", point.phases_needed},
                      {"longer_than_ns", nullable(point.longer_than_ns)},
                      {"low_ns", known ? Json(point.low_ns) : Json(nullptr)},
                      {"high_ns", known ? Json(point.high_ns) : Json(nullptr)}});
  }
  return points;
}

Json exceeding_json(const analysis::PhaseDurations& durations, const PhaseSetting& setting) {
  Json all = Json::array();
  for (const analysis::Exceeding& each : durations.exceeding(setting.delays)) {
    all.push_back({{"share", each.share},
                   {"above_ns", each.above_ns},
                   {"phases", each.phases},
                   {"p", each.p.value},
                   {"low", each.p.low},
                   {"high", each.p.high}});
  }
  return all;
}

Json direct_json(const CpuPhases& cpu) {
  Json all = Json::array();
  for (const PhaseDirect& each : cpu.direct) {
    const auto time = [&](std::uint64_t ns) { return each.timed ? Json(ns) : Json(nullptr); };
    all.push_back({{"category", each.category},
                   {"kind", each.kind},
                   {"name", each.name},
                   {"count", each.cost.count},
                   {"total_ns", time(each.cost.self_ns)},
                   {"outside_count", each.cost.outside_count},
                   {"outside_ns", time(each.cost.outside_ns)},
                   {"ledger_count", each.ledger_count},
                   {"ledger_ns", time(each.ledger_ns)}});
  }
  return all;
}

Json indirect_json(const CpuPhases& cpu) {
  const analysis::PhaseEpisodes& episodes = cpu.analysis->episodes();
  Json sources = Json::array();
  for (const PhaseIndirect& each : cpu.indirect) {
    const std::string why = no_cost_text(each.cost.why_not);
    sources.push_back({{"sources", each.sources},
                       {"episodes", each.cost.episodes},
                       {"activations", each.cost.activations},
                       {"direct_ns", nullable_ns(each.direct_ns)},
                       {"indirect", estimate_json(each.cost.indirect)},
                       {"in_detour", estimate_json(each.cost.inside)},
                       {"after", estimate_json(each.cost.after)},
                       {"unknown", why.empty() ? Json(nullptr) : Json(why)}});
  }
  return Json{{"phases_after", episodes.reach()},
              {"quiet_phases", episodes.quiet().count()},
              {"base_ns", nullable_ns(cpu.base_ns)},
              {"length_bias_ns", nullable_ns(cpu.length_bias_ns)},
              {"left_out",
               {{"in_doubt", episodes.left_out().in_doubt},
                {"edges", episodes.left_out().edges},
                {"endless", episodes.left_out().endless},
                {"too_many", episodes.left_out().too_many}}},
              {"sources", std::move(sources)}};
}

Json cpu_json(const CpuPhases& cpu, const PhaseSetting& setting) {
  const analysis::PhaseDurations& durations = cpu.analysis->durations();
  const Moments& moments = durations.moments();
  const bool any = moments.count() != 0;
  const auto time = [&](std::uint64_t ns) { return any ? Json(ns) : Json(nullptr); };
  return Json{{"cpu", cpu.cpu},
              {"iterations", cpu.iterations},
              {"phases", moments.count()},
              {"total_ns", moments.total_ns()},
              {"calibrated_ns", nullable_ns(durations.calibrated_ns())},
              {"mean_ns", time(moments.mean_ns())},
              {"median_ns", time(durations.median_ns())},
              {"stddev_ns", time(moments.stddev_ns())},
              {"min_ns", time(moments.min_ns())},
              {"max_ns", time(moments.max_ns())},
              {"survival", survival_json(durations)},
              {"exceeding", exceeding_json(durations, setting)},
              {"direct", direct_json(cpu)},
              {"indirect", indirect_json(cpu)}};
}

}  // namespace

std::string to_json(const std::vector<CpuPhases>& cpus, const PhaseSetting& setting, const Report& report) {
  Json all = Json::array();
  for (const CpuPhases& cpu : cpus) all.push_back(cpu_json(cpu, setting));
  return dump(Json{{"schema", "noised.phases/1"},
                   {"grain_ns", nullable(setting.grain_ns)},
                   {"footprint_bytes", nullable(setting.footprint_bytes)},
                   {"policy", setting.policy.empty() ? Json(nullptr) : Json(setting.policy)},
                   {"lost", lost_json(report.lost)},
                   {"unsupported", report.unsupported},
                   {"cpus", std::move(all)}});
}

namespace {

using Align = Table::Align;

std::string in_minimum(double ns, std::uint64_t minimum_ns) {
  return minimum_ns == 0 ? "-" : fmt::format("{:.4f}", ns / static_cast<double>(minimum_ns));
}

std::string statistics_text(const analysis::PhaseDurations& durations) {
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

std::string survival_text(const analysis::PhaseDurations& durations) {
  Table table({{"p", Align::right}, {"a phase is longer than", Align::right}, {"95% interval", Align::left}});
  std::string silent;
  for (const analysis::Survival& point : durations.survival()) {
    if (!point.longer_than_ns) {
      silent += fmt::format("{}{:.0e} ({} phases)", silent.empty() ? "" : ", ", point.p, point.phases_needed);
      continue;
    }
    table.add({fmt::format("{:.0e}", point.p), format_duration(*point.longer_than_ns),
               format_duration(point.low_ns) + " to " + format_duration(point.high_ns)});
  }
  return "\n" + table.text() + (silent.empty() ? "" : "too few phases to speak of p = " + silent + "\n");
}

std::string exceeding_text(const analysis::PhaseDurations& durations, const PhaseSetting& setting) {
  Table table({{"longer than the work (2nd decile)", Align::left},
               {"above", Align::right},
               {"phases", Align::right},
               {"p", Align::right},
               {"95% interval", Align::left}});
  for (const analysis::Exceeding& each : durations.exceeding(setting.delays)) {
    table.add({fmt::format("by {:g}%", 100 * each.share), format_duration(each.above_ns), std::to_string(each.phases),
               fmt::format("{:.3g}", each.p.value), fmt::format("{:.3g} to {:.3g}", each.p.low, each.p.high)});
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
  const analysis::PhaseEpisodes& episodes = cpu.analysis->episodes();
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
  const analysis::EpisodesLeftOut& left_out = cpu.analysis->episodes().left_out();
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
    const analysis::PhaseDurations& durations = cpu.analysis->durations();
    text += fmt::format("\nCPU {}: {} phases of {} iterations of the loop{}\n", cpu.cpu, durations.moments().count(),
                        cpu.iterations, setting_text(setting));
    if (durations.moments().count() == 0) continue;
    text += fmt::format("the work takes {} (mean of the 2nd decile)\n\n",
                        signed_duration(durations.calibrated_ns().value_or(0)));
    text += statistics_text(durations) + survival_text(durations) + exceeding_text(durations, setting) +
            direct_text(cpu) + indirect_text(cpu) + fit_text(cpu);
  }
  return text + report_tail(report);
}

namespace {

using Align = Table::Align;

Table table_of(const char* what, const ComparedPhases& one, const ComparedPhases& two) {
  return Table({{what, Align::left}, {one.title, Align::left}, {two.title, Align::left}});
}

void add_statistics(const analysis::PhaseDurations& one, const analysis::PhaseDurations& two, Table& table) {
  const auto add = [&](const char* what, auto figure) { table.add({what, figure(one), figure(two)}); };
  add("phases", [](const analysis::PhaseDurations& of) { return std::to_string(of.moments().count()); });
  add("the work (2nd decile)",
      [](const analysis::PhaseDurations& of) { return signed_duration(of.calibrated_ns().value_or(0)); });
  add("average", [](const analysis::PhaseDurations& of) { return format_duration(of.moments().mean_ns()); });
  add("median", [](const analysis::PhaseDurations& of) { return format_duration(of.median_ns()); });
  add("stddev", [](const analysis::PhaseDurations& of) { return format_duration(of.moments().stddev_ns()); });
  add("minimum", [](const analysis::PhaseDurations& of) { return format_duration(of.moments().min_ns()); });
  add("maximum", [](const analysis::PhaseDurations& of) { return format_duration(of.moments().max_ns()); });
}

void add_tails(const analysis::PhaseDurations& one, const analysis::PhaseDurations& two,
               const std::vector<double>& delays, Table& table) {
  const auto survival = [](const analysis::Survival& point) {
    if (!point.longer_than_ns) return std::string("too few phases");
    return fmt::format("{} ({} to {})", format_duration(*point.longer_than_ns), format_duration(point.low_ns),
                       format_duration(point.high_ns));
  };
  const auto first = one.survival();
  const auto second = two.survival();
  for (std::size_t i = 0; i < first.size(); ++i)
    table.add({fmt::format("p = {:.0e}: longer than", first[i].p), survival(first[i]), survival(second[i])});
  const auto exceeding = [](const analysis::Exceeding& each) {
    return fmt::format("{:.3g} ({:.3g} to {:.3g})", each.p.value, each.p.low, each.p.high);
  };
  const auto above = one.exceeding(delays);
  const auto other = two.exceeding(delays);
  for (std::size_t i = 0; i < std::min(above.size(), other.size()); ++i)
    table.add(
        {fmt::format("p of {:g}% above the work", 100 * above[i].share), exceeding(above[i]), exceeding(other[i])});
}

// A cost of the other recording is that of the same sources: with others named beside it, it is another one.
std::string cost_of(const CpuPhases& cpu, const PhaseIndirect& like) {
  for (const PhaseIndirect& each : cpu.indirect) {
    if (names_text(each) != names_text(like)) continue;
    return each.cost.indirect ? estimate_text(each.cost.indirect) : no_cost_text(each.cost.why_not);
  }
  return "-";
}

std::string costs_text(const ComparedPhases& one, const ComparedPhases& two, std::size_t place) {
  Table table = table_of("indirect cost of an activation (95% interval)", one, two);
  const auto add = [&](const PhaseIndirect& each) {
    table.add({names_text(each), cost_of(one.cpus[place], each), cost_of(two.cpus[place], each)});
  };
  for (const PhaseIndirect& each : one.cpus[place].indirect) add(each);
  for (const PhaseIndirect& each : two.cpus[place].indirect) {
    if (cost_of(one.cpus[place], each) == "-") add(each);
  }
  return "\n" + table.text();
}

}  // namespace

std::string compared_text(const ComparedPhases& one, const ComparedPhases& two) {
  std::string text;
  for (const ComparedPhases* each : {&one, &two})
    text += fmt::format("{}: {}, from {}{}; lost: {}\n", each->title, printable(each->report.host),
                        printable(each->report.start), setting_text(each->setting), lost_text(each->report.lost));
  const std::size_t cpus = std::min(one.cpus.size(), two.cpus.size());
  if (one.cpus.size() != two.cpus.size())
    text += fmt::format("{} CPUs beside {}: the first {} are shown\n", one.cpus.size(), two.cpus.size(), cpus);
  for (std::size_t i = 0; i < cpus; ++i) {
    const auto heading = [&](const CpuPhases& cpu) {
      return fmt::format("CPU {}, {} iterations a phase", cpu.cpu, cpu.iterations);
    };
    Table table = table_of("", one, two);
    table.add({"", heading(one.cpus[i]), heading(two.cpus[i])});
    add_statistics(one.cpus[i].analysis->durations(), two.cpus[i].analysis->durations(), table);
    add_tails(one.cpus[i].analysis->durations(), two.cpus[i].analysis->durations(), one.setting.delays, table);
    text += "\n" + table.text() + costs_text(one, two, i);
  }
  return text;
}

}  // namespace noised::views
