// SPDX-License-Identifier: Apache-2.0
// Two recordings beside each other, as OTHER and FIFO in table 2 and figure 3 of Tsafrir et al. 2005.
#include <algorithm>

#include <fmt/format.h>

#include "views/format.h"
#include "views/json_parts.h"
#include "views/phases.h"
#include "views/table.h"
#include "views/views.h"

namespace noised::views {
namespace {

using Align = Table::Align;

Table table_of(const char* what, const ComparedPhases& one, const ComparedPhases& two) {
  return Table({{what, Align::left}, {one.title, Align::left}, {two.title, Align::left}});
}

void add_statistics(const PhaseDurations& one, const PhaseDurations& two, Table& table) {
  const auto add = [&](const char* what, auto figure) { table.add({what, figure(one), figure(two)}); };
  add("phases", [](const PhaseDurations& of) { return std::to_string(of.moments().count()); });
  add("the work (2nd decile)",
      [](const PhaseDurations& of) { return signed_duration(of.calibrated_ns().value_or(0)); });
  add("average", [](const PhaseDurations& of) { return format_duration(of.moments().mean_ns()); });
  add("median", [](const PhaseDurations& of) { return format_duration(of.median_ns()); });
  add("stddev", [](const PhaseDurations& of) { return format_duration(of.moments().stddev_ns()); });
  add("minimum", [](const PhaseDurations& of) { return format_duration(of.moments().min_ns()); });
  add("maximum", [](const PhaseDurations& of) { return format_duration(of.moments().max_ns()); });
}

void add_tails(const PhaseDurations& one, const PhaseDurations& two, Table& table) {
  const auto survival = [](const Survival& point) {
    if (!point.longer_than_ns) return std::string("too few phases");
    return fmt::format("{} ({} to {})", format_duration(*point.longer_than_ns), format_duration(point.low_ns),
                       format_duration(point.high_ns));
  };
  const auto first = one.survival();
  const auto second = two.survival();
  for (std::size_t i = 0; i < first.size(); ++i)
    table.add({fmt::format("p = {:.0e}: longer than", first[i].p), survival(first[i]), survival(second[i])});
  const auto exceeding = [](const Exceeding& each) {
    return fmt::format("{:.3g} ({:.3g} to {:.3g})", each.p, each.low, each.high);
  };
  const auto above = one.exceeding();
  const auto other = two.exceeding();
  for (std::size_t i = 0; i < std::min(above.size(), other.size()); ++i)
    table.add(
        {fmt::format("p of {:.0f}% above the work", 100 * above[i].share), exceeding(above[i]), exceeding(other[i])});
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
    add_tails(one.cpus[i].analysis->durations(), two.cpus[i].analysis->durations(), table);
    text += "\n" + table.text() + costs_text(one, two, i);
  }
  return text;
}

}  // namespace noised::views
