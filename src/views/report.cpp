// SPDX-License-Identifier: Apache-2.0
// Each table once, in both forms. Sources are written "kind:name" as everywhere: no name can pass for a spreadsheet's
// formula then.
#include "views/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "base/text.h"
#include "model/json_parts.h"
#include "views/lost.h"
#include "views/sources.h"
#include "views/text.h"
#include "views/verdict.h"
#include "views/views.h"

namespace noised::views {
std::string to_json(const Report& report) { return dump(fields_json(report, kReportFields)); }

Result<Report> parse_report(std::string_view json) { return parse_as<Report>(json, "report", kReportFields); }

namespace {

using Align = Table::Align;

constexpr std::size_t kCombinationsShown = 15;

std::string ledger(const Report& report) {
  Table table({{"CPU", Align::right},
               {"mode", Align::left},
               {"observed", Align::right},
               {"detours", Align::right},
               {"stolen", Align::right},
               {"share", Align::right},
               {"max", Align::right},
               {"explained", Align::right},
               {"overhead", Align::right},
               {"hypervisor", Align::right},
               {"hardware", Align::right},
               {"unexplained", Align::right},
               {"contained", Align::right}});
  for (const ReportCpu& cpu : report.cpus)
    table.add({std::to_string(cpu.cpu), printable(cpu.mode), format_duration(cpu.observed_ns),
               std::to_string(cpu.detours), format_duration(cpu.detour_ns),
               format_share(ratio(cpu.detour_ns, cpu.observed_ns)), format_duration(cpu.max_detour_ns),
               format_duration(cpu.explained_ns), format_duration(cpu.overhead_ns), format_duration(cpu.hypervisor_ns),
               format_duration(cpu.hardware_ns), format_duration(cpu.unexplained_ns),
               cpu.containment ? format_containment(*cpu.containment) : "-"});
  return "\nstolen time by CPU (share: of the time observed)\n" + table.text();
}

// Where the host's time is known to lie; empty if of none.
std::string placed_steal(const Report& report, const ReportCpu& cpu) {
  std::uint64_t in_gaps_ns = 0;
  std::uint64_t in_intervals_ns = 0;
  for (const ReportSource& source : report.sources) {
    std::uint64_t& sum_ns = is_event(source) ? in_intervals_ns : in_gaps_ns;
    if (source.cpu == cpu.cpu) sum_ns = saturating_add(sum_ns, source.stolen_by_host_ns);
  }
  const std::uint64_t placed_ns = saturating_add(in_gaps_ns, in_intervals_ns);
  if (placed_ns == 0) return "";
  return fmt::format(
      "CPU {}: of that, at least {} in gaps and {} in intervals; in which the other {} lies is not known\n", cpu.cpu,
      format_duration(in_gaps_ns), format_duration(in_intervals_ns),
      format_duration(cpu.steal_ns - std::min(cpu.steal_ns, placed_ns)));
}

// What was counted besides, and what was not observed.
std::string certainty(const Report& report) {
  std::string text;
  for (const ReportCpu& cpu : report.cpus) {
    if (!cpu.steal_source.empty()) {
      const bool is_exact = cpu.steal_step_ns == 1;
      text += fmt::format("CPU {}: the host counted {} of steal time ({}, {})\n", cpu.cpu,
                          format_duration(cpu.steal_ns), printable(cpu.steal_source),
                          is_exact ? "to the nanosecond" : "in steps of " + format_duration(cpu.steal_step_ns));
      text += placed_steal(report, cpu);
    } else if (cpu.steal_step_ns != 0) {  // a recording of when the ledger was divided by it
      text += fmt::format(
          "CPU {}: {} of steal time counted, in steps of {}: hypervisor is at most their sum, the rest of "
          "the time without kernel activity is hardware\n",
          cpu.cpu, format_duration(cpu.steal_ns), format_duration(cpu.steal_step_ns));
    }
    if (cpu.smi_count) text += fmt::format("CPU {}: {} system management interrupts\n", cpu.cpu, *cpu.smi_count);
    if (cpu.blind_ns != 0) {
      text += fmt::format("CPU {}: {} not observed: the loop was stopped, or not on its CPU\n", cpu.cpu,
                          format_duration(cpu.blind_ns));
    }
  }
  return text;
}

std::uint64_t a_second_ns(std::uint64_t total_ns, std::uint64_t observed_ns) {
  return static_cast<std::uint64_t>(std::llround(ratio(total_ns, observed_ns) * 1e9));
}

// Of each CPU, what nobody did comes last.
std::vector<const ReportSource*> named_first(const Report& report) {
  std::vector<const ReportSource*> rows;
  rows.reserve(report.sources.size());
  for (auto first = report.sources.begin(); first != report.sources.end();) {
    const auto end =
        std::find_if(first, report.sources.end(), [&](const auto& each) { return each.cpu != first->cpu; });
    for (const bool events : {true, false}) {
      for (auto each = first; each != end; ++each) {
        if (is_event(*each) == events) rows.push_back(&*each);
      }
    }
    first = end;
  }
  return rows;
}

std::string sources(const Report& report) {
  if (report.sources.empty()) return "\nno source took any time\n";
  CellTable table({{"CPU", "", Align::right},
                   {"category", "", Align::left},
                   {"source", "", Align::left},
                   {"count", "", Align::right},
                   {"per second", "", Align::right},
                   {"total", "", Align::right},
                   {"a second", "", Align::right},
                   {"mean", "", Align::right},
                   {"max", "", Align::right},
                   {"share", "", Align::right}});
  for (const ReportSource* const each : named_first(report)) {
    const ReportSource& source = *each;
    const std::uint64_t observed_ns = observed_ns_of(report, source.cpu);
    table.add({cpu_cell(source.cpu), name_cell(source.category), name_cell(short_label(source)),
               number_cell(source.count), rate_cell(source.count, observed_ns), time_of(source, source.total_ns),
               time_of(source, a_second_ns(source.total_ns, observed_ns)), time_of(source, source.mean_ns),
               time_of(source, source.max_ns), share_of(source)});
  }
  return "\nsources by stolen time (a second: of the time observed; share: of the CPU's stolen time)\n" + table.text();
}

// Intervals that took longer because the host had the CPU meanwhile, and what they would take without.
std::string stretched(const Report& report) {
  CellTable table({{"CPU", "", Align::right},
                   {"source", "", Align::left},
                   {"count", "", Align::right},
                   {"stretched", "", Align::right},
                   {"by", "", Align::right},
                   {"mean", "", Align::right},
                   {"without", "", Align::right}});
  bool any = false;
  for (const ReportSource& source : report.sources) {
    if (source.stretched == 0 || source.count == 0 || !is_event(source)) continue;
    const std::uint64_t own_ns = source.total_ns - std::min(source.total_ns, source.stolen_by_host_ns);
    table.add({cpu_cell(source.cpu), name_cell(label(source)), number_cell(source.count), number_cell(source.stretched),
               time_of(source, source.stolen_by_host_ns), time_of(source, source.mean_ns),
               time_of(source, own_ns / source.count)});
    any = true;
  }
  return any ? "\nstretched by the host, at least (mean: of all of that source, with and without)\n" + table.text()
             : "";
}

std::string combinations_text(const Report& report) {
  if (report.combinations.empty()) return "";
  const std::size_t shown = std::min(kCombinationsShown, report.combinations.size());
  Table table({{"count", Align::right}, {"total", Align::right}, {"max", Align::right}, {"together", Align::left}});
  for (std::size_t i = 0; i < shown; ++i) {
    const ReportCombination& combination = report.combinations[i];
    table.add({std::to_string(combination.count), format_duration(combination.total_ns),
               format_duration(combination.max_ns), printable(short_labels(combination.sources))});
  }
  return fmt::format("\ndetours by what happened in them ({} of {})\n{}", shown, report.combinations.size(),
                     table.text());
}

std::string blind_line(const ReportLost& lost) {
  const std::string text = blind_text(lost);
  return text.empty() ? text : text + "\n";
}

}  // namespace

std::string report_head(const Report& report) {
  return fmt::format("noised on {}, kernel {}, from {}, for {}\n{}\n", printable(report.host), printable(report.kernel),
                     report.start.empty() ? "a time not known" : printable(report.start),
                     format_duration(report.elapsed_ns), clock_text(report.clock)) +
         blind_line(report.lost);
}

std::string report_tail(const Report& report) {
  return fmt::format("\nlost: {}\n", lost_text(report.lost)) + unsupported_text(report.unsupported);
}

std::string to_text(const Report& report) { return to_text(report, ReportTable::ledger); }

namespace {

std::string everything(const Report& report, const std::string& selftest) {
  return report_head(report) + "\n" + verdict_text(report, selftest) + ledger(report) + certainty(report) +
         categories_text(report) + sources(report) + stretched(report) + combinations_text(report) +
         report_tail(report);
}

using SourceName = std::tuple<std::string_view, std::string_view, std::string_view>;

// What makes rows of several CPUs the same source.
SourceName name_of(const ReportSource& source) { return {source.kind, source.name, source.category}; }

// One CPU needs no sum for people; a program can count on it.
bool sum_shown(const Report& report, bool always) { return always || report.cpus.size() > 1; }

void add_source(CellTable& table, const ReportSource& source, std::optional<unsigned> cpu) {
  table.add({cpu_cell(cpu), name_cell(source.category), name_cell(label(source)), time_of(source, source.min_ns),
             time_of(source, source.max_ns), number_cell(source.count), time_of(source, source.mean_ns),
             time_of(source, source.total_ns), time_of(source, source.stddev_ns), share_of(source)});
}

CellTable sources(const Report& report, bool always_sum) {
  CellTable table({{"CPU", "cpu", Align::right},
                   {"category", "category", Align::left},
                   {"source", "source", Align::left},
                   {"lowest", "min_ns", Align::right},
                   {"highest", "max_ns", Align::right},
                   {"count", "count", Align::right},
                   {"mean", "mean_ns", Align::right},
                   {"total", "total_ns", Align::right},
                   {"stddev", "stddev_ns", Align::right},
                   {"share", "share", Align::right}});
  if (sum_shown(report, always_sum)) {
    for (const ReportSource& source : all_cpus(report)) add_source(table, source, std::nullopt);
  }
  for (const ReportSource& source : report.sources) add_source(table, source, source.cpu);
  return table;
}

CellTable combinations_table(const Report& report) {
  CellTable table({{"lowest", "min_ns", Align::right},
                   {"highest", "max_ns", Align::right},
                   {"count", "count", Align::right},
                   {"mean", "mean_ns", Align::right},
                   {"total", "total_ns", Align::right},
                   {"stddev", "stddev_ns", Align::right},
                   {"share", "share", Align::right},
                   {"together", "combination", Align::left}});
  const std::uint64_t stolen_ns = stolen_ns_of_all(report);
  for (const ReportCombination& each : report.combinations)
    table.add({time_cell(each.min_ns), time_cell(each.max_ns), number_cell(each.count), time_cell(each.mean_ns),
               time_cell(each.total_ns), time_cell(each.stddev_ns), share_cell(ratio(each.total_ns, stolen_ns)),
               name_cell(fmt::format("{}", fmt::join(each.sources, " + ")))});
  return table;
}

void add_event(CellTable& table, const ReportSource& source, std::optional<unsigned> cpu, std::uint64_t observed_ns) {
  table.add({name_cell(source.category), name_cell(label(source)), cpu_cell(cpu), rate_cell(source.count, observed_ns),
             time_of(source, source.mean_ns), time_of(source, source.max_ns), time_of(source, source.min_ns),
             number_cell(source.count), time_cell(observed_ns)});
}

CellTable events(const Report& report, bool always_sum) {
  CellTable table({{"category", "category", Align::left},
                   {"event", "source", Align::left},
                   {"CPU", "cpu", Align::right},
                   {"per second", "per_second", Align::right},
                   {"average", "mean_ns", Align::right},
                   {"maximum", "max_ns", Align::right},
                   {"minimum", "min_ns", Align::right},
                   {"", "count", Align::right, true},
                   {"", "observed_ns", Align::right, true}});
  // Of each source its CPUs' rows: looked for once, not once for each of thousands of sources.
  std::map<SourceName, std::vector<const ReportSource*>> rows;
  for (const ReportSource& one : report.sources) rows[name_of(one)].push_back(&one);
  std::map<unsigned, std::uint64_t> observed_ns;
  for (const ReportCpu& cpu : report.cpus) observed_ns.emplace(cpu.cpu, cpu.observed_ns);
  for (const ReportSource& all : all_cpus(report)) {
    if (!is_event(all)) continue;
    if (sum_shown(report, always_sum)) add_event(table, all, std::nullopt, observed_ns_of_all(report));
    for (const ReportSource* one : rows[name_of(all)]) add_event(table, *one, one->cpu, observed_ns[one->cpu]);
  }
  return table;
}

CellTable cpus(const Report& report) {
  std::vector<CellTable::Column> columns;
  for (const char* field : {"cpu", "mode", "observed_ns", "iterations", "threshold_ns", "detours", "detour_ns",
                            "max_detour_ns", "explained_ns", "overhead_ns", "hypervisor_ns", "hardware_ns",
                            "unexplained_ns", "blind_ns", "steal_ns", "steal_step_ns", "smi_count", "containment"})
    columns.push_back({field, field, Align::right});
  CellTable table(std::move(columns));
  for (const ReportCpu& cpu : report.cpus)
    table.add({cpu_cell(cpu.cpu), name_cell(cpu.mode), time_cell(cpu.observed_ns), number_cell(cpu.iterations),
               time_cell(cpu.threshold_ns), number_cell(cpu.detours), time_cell(cpu.detour_ns),
               time_cell(cpu.max_detour_ns), time_cell(cpu.explained_ns), time_cell(cpu.overhead_ns),
               time_cell(cpu.hypervisor_ns), time_cell(cpu.hardware_ns), time_cell(cpu.unexplained_ns),
               time_cell(cpu.blind_ns), time_cell(cpu.steal_ns), time_cell(cpu.steal_step_ns),
               cpu.smi_count ? number_cell(*cpu.smi_count) : unknown_cell(),
               cpu.containment ? share_cell(*cpu.containment) : unknown_cell()});
  return table;
}

std::string body(const Report& report, ReportTable table) {
  switch (table) {
    case ReportTable::sources:
      return "\nsources one by one (share: of the stolen time of the CPU, or of all)\n" + sources(report, false).text();
    case ReportTable::combinations:
      return "\ndetours by what happened in them, on all CPUs (share: of the stolen time)\n" +
             combinations_table(report).text();
    case ReportTable::events:
      return "\nevents of the kernel (per second: of the time observed on the CPU; of all, on average)\n" +
             events(report, false).text();
    case ReportTable::ledger:
      break;
  }
  return "";
}

}  // namespace

std::string to_text(const Report& report, ReportTable table, const std::string& selftest) {
  if (table == ReportTable::ledger) return everything(report, selftest);
  return report_head(report) + body(report, table) + report_tail(report);
}

std::string to_csv(const Report& report, ReportTable table) {
  switch (table) {
    case ReportTable::sources:
      return sources(report, true).csv();
    case ReportTable::combinations:
      return combinations_table(report).csv();
    case ReportTable::events:
      return events(report, true).csv();
    case ReportTable::ledger:
      break;
  }
  return cpus(report).csv();
}

}  // namespace noised::views
