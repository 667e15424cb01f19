// SPDX-License-Identifier: Apache-2.0
// The report for people: who took the CPU away, for how long, and what is not known.
#include <algorithm>

#include <fmt/format.h>

#include "views/all_cpus.h"
#include "views/cells.h"
#include "views/format.h"
#include "views/json_parts.h"
#include "views/report_tables.h"
#include "views/source_cells.h"
#include "views/table.h"
#include "views/views.h"

namespace noised::views {
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

// How sure the division between hypervisor and hardware is, and what was not observed.
std::string certainty(const Report& report) {
  std::string text;
  for (const ReportCpu& cpu : report.cpus) {
    if (cpu.steal_step_ns != 0) {
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

std::string sources(const Report& report) {
  if (report.sources.empty()) return "\nno source took any time\n";
  CellTable table({{"CPU", "", Align::right},
                   {"category", "", Align::left},
                   {"source", "", Align::left},
                   {"count", "", Align::right},
                   {"per second", "", Align::right},
                   {"total", "", Align::right},
                   {"min", "", Align::right},
                   {"mean", "", Align::right},
                   {"max", "", Align::right},
                   {"stddev", "", Align::right},
                   {"share", "", Align::right}});
  for (const ReportSource& source : report.sources)
    table.add({cpu_cell(source.cpu), name_cell(source.category), name_cell(label(source)), number_cell(source.count),
               rate_cell(source.count, observed_ns_of(report, source.cpu)), time_of(source, source.total_ns),
               time_of(source, source.min_ns), time_of(source, source.mean_ns), time_of(source, source.max_ns),
               time_of(source, source.stddev_ns), share_of(source)});
  return "\nsources by stolen time (share: of the CPU's stolen time)\n" + table.text();
}

std::string combinations(const Report& report) {
  if (report.combinations.empty()) return "";
  const std::size_t shown = std::min(kCombinationsShown, report.combinations.size());
  Table table({{"count", Align::right}, {"total", Align::right}, {"max", Align::right}, {"together", Align::left}});
  for (std::size_t i = 0; i < shown; ++i) {
    const ReportCombination& combination = report.combinations[i];
    table.add({std::to_string(combination.count), format_duration(combination.total_ns),
               format_duration(combination.max_ns),
               printable(fmt::format("{}", fmt::join(combination.sources, " + ")))});
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
                     printable(report.start), format_duration(report.elapsed_ns), clock_text(report.clock)) +
         blind_line(report.lost);
}

std::string report_tail(const Report& report) {
  return fmt::format("\nlost: {}\n", lost_text(report.lost)) + unsupported_text(report.unsupported);
}

std::string to_text(const Report& report) {
  return report_head(report) + ledger(report) + certainty(report) + categories_text(report) + sources(report) +
         combinations(report) + report_tail(report);
}

}  // namespace noised::views
