// SPDX-License-Identifier: Apache-2.0
// Each table once, in both forms. Sources are written "kind:name" as everywhere: no name can pass for a spreadsheet's
// formula then.
#include "views/report_tables.h"

#include <map>
#include <tuple>

#include <fmt/format.h>

#include "views/all_cpus.h"
#include "views/cells.h"
#include "views/format.h"
#include "views/source_cells.h"
#include "views/views.h"

namespace noised::views {
namespace {

using Align = Table::Align;

using SourceName = std::tuple<std::string_view, std::string_view, std::string_view>;

// What makes rows of several CPUs the same source.
SourceName name_of(const ReportSource& source) { return {source.kind, source.name, source.category}; }

// What is no activity of the kernel has time, but does not happen.
bool event(const ReportSource& source) {
  return source.kind != "overhead" && source.kind != "hypervisor" && source.kind != "hardware" &&
         source.kind != "unexplained";
}

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

CellTable combinations(const Report& report) {
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
    if (!event(all)) continue;
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
             combinations(report).text();
    case ReportTable::events:
      return "\nevents of the kernel (per second: of the time observed on the CPU; of all, on average)\n" +
             events(report, false).text();
    case ReportTable::ledger:
      break;
  }
  return "";
}

}  // namespace

std::string to_text(const Report& report, ReportTable table) {
  if (table == ReportTable::ledger) return to_text(report);
  return report_head(report) + body(report, table) + report_tail(report);
}

std::string to_csv(const Report& report, ReportTable table) {
  switch (table) {
    case ReportTable::sources:
      return sources(report, true).csv();
    case ReportTable::combinations:
      return combinations(report).csv();
    case ReportTable::events:
      return events(report, true).csv();
    case ReportTable::ledger:
      break;
  }
  return cpus(report).csv();
}

}  // namespace noised::views
