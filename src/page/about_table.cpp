// SPDX-License-Identifier: Apache-2.0
// What was measured, with what, and what is missing.
#include <fmt/format.h>

#include "page/about.h"
#include "page/html_text.h"
#include "page/page.h"
#include "page/table_writer.h"
#include "views/all_cpus.h"
#include "views/format.h"
#include "views/json_parts.h"

namespace noised::page {
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
                      const Description& description) {
  table.row({"host", or_unknown(report.host)});
  table.row({"kernel", or_unknown(report.kernel)});
  table.row({"boot parameters", or_unknown(description.boot_parameters)});
  table.row({"processor", or_unknown(description.processor)});
  table.row({"noised", or_unknown(status.version)});
  table.row({"started", or_unknown(report.start)});
  table.row({"lasted", duration_html(report.elapsed_ns)});
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
  add_lost_row(table, report.lost);
  table.row({"intervals outside every detour", grouped(input.status.orphan_intervals)});
  add_unsupported_row(table, report.unsupported);
  return table.finish();
}

}  // namespace noised::page
