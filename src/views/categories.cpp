// SPDX-License-Identifier: Apache-2.0
// What each CPU's stolen time was, in the few words of the categories.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "statistics/saturating.h"
#include "views/all_cpus.h"
#include "views/format.h"
#include "views/report_tables.h"
#include "views/table.h"
#include "views/views.h"

namespace noised::views {
namespace {

using Times = std::map<std::string, std::uint64_t>;

Times times_of(const Report& report, std::optional<unsigned> cpu) {
  Times times;
  for (const ReportSource& source : report.sources) {
    if (cpu && source.cpu != *cpu) continue;
    std::uint64_t& time = times[source.category];
    time = saturating_add(time, source.total_ns);
  }
  return times;
}

// The largest first; those with the same time by name.
std::vector<std::string> by_time(const Times& times) {
  std::vector<std::pair<std::string, std::uint64_t>> sorted(times.begin(), times.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> names;
  names.reserve(sorted.size());
  for (const auto& each : sorted) names.push_back(each.first);
  return names;
}

std::vector<std::string> row(const std::string& who, const Times& times, std::uint64_t stolen_ns,
                             const std::vector<std::string>& categories) {
  std::vector<std::string> cells{who};
  for (const std::string& category : categories) {
    const auto found = times.find(category);
    if (found == times.end()) {
      cells.emplace_back("-");
    } else if (found->second == 0) {
      cells.emplace_back("not timed");  // faults, where the kernel refuses it
    } else {
      const double share = ratio(found->second, stolen_ns);
      cells.push_back(fmt::format("{} {}", format_duration(found->second), format_share(share)));
    }
  }
  return cells;
}

}  // namespace

std::string categories_text(const Report& report) {
  const Times all = times_of(report, std::nullopt);
  if (all.empty()) return "";
  const std::vector<std::string> categories = by_time(all);
  std::vector<Table::Column> columns{{"CPU", Table::Align::right}};
  for (const std::string& category : categories) columns.push_back({printable(category), Table::Align::right});
  Table table(std::move(columns));
  if (report.cpus.size() > 1) table.add(row("all", all, stolen_ns_of_all(report), categories));
  for (const ReportCpu& cpu : report.cpus)
    table.add(row(std::to_string(cpu.cpu), times_of(report, cpu.cpu), cpu.detour_ns, categories));
  return "\nstolen time by category (share: of the CPU's stolen time)\n" + table.text();
}

}  // namespace noised::views
