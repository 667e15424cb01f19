// SPDX-License-Identifier: Apache-2.0
// What each CPU's stolen time was, in the few words of the categories.
#include "views/sources.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/saturating.h"
#include "base/text.h"
#include "views/report.h"
#include "views/text.h"
#include "views/views.h"

namespace noised::views {
namespace {

// A long double holds every u64: the means' distance must not be lost beside the means.
long double mean_of(const ReportSource& row) {
  return static_cast<long double>(row.total_ns) / static_cast<long double>(row.count);
}

struct Merged {
  ReportSource row;
  long double squares = 0;  // sum of the squared distances from the mean

  void add(const ReportSource& other) {
    if (other.count == 0) return;
    const auto theirs = static_cast<long double>(other.count);
    const auto stddev = static_cast<long double>(other.stddev_ns);
    squares += stddev * stddev * (theirs - 1);
    if (row.count == 0) {
      row = other;
      return;
    }
    const auto ours = static_cast<long double>(row.count);
    const long double apart = mean_of(other) - mean_of(row);
    squares += apart * apart * (ours * (theirs / (ours + theirs)));
    row.count = saturating_add(row.count, other.count);
    row.total_ns = saturating_add(row.total_ns, other.total_ns);
    row.stretched = saturating_add(row.stretched, other.stretched);
    row.stolen_by_host_ns = saturating_add(row.stolen_by_host_ns, other.stolen_by_host_ns);
    if (row.pid != other.pid) row.pid = 0;
    row.min_ns = std::min(row.min_ns, other.min_ns);
    row.max_ns = std::max(row.max_ns, other.max_ns);
  }

  [[nodiscard]] ReportSource result(std::uint64_t stolen_ns) const {
    ReportSource all = row;
    const std::uint64_t rest = all.total_ns % all.count;
    all.mean_ns = all.total_ns / all.count + (rest >= all.count - rest ? 1 : 0);
    const auto freedom = static_cast<long double>(all.count - 1);
    all.stddev_ns = all.count < 2 ? 0 : static_cast<std::uint64_t>(std::round(std::sqrt(squares / freedom)));
    all.share = ratio(all.total_ns, stolen_ns);
    return all;
  }
};

}  // namespace

std::vector<ReportSource> all_cpus(const Report& report) {
  std::map<std::tuple<std::string, std::string, std::string>, Merged> merged;
  for (const ReportSource& row : report.sources) merged[{row.kind, row.name, row.category}].add(row);
  const std::uint64_t stolen_ns = stolen_ns_of_all(report);
  std::vector<ReportSource> all;
  for (const auto& each : merged) {
    if (each.second.row.count != 0) all.push_back(each.second.result(stolen_ns));
  }
  std::stable_sort(all.begin(), all.end(), [](const ReportSource& a, const ReportSource& b) {
    return std::tie(b.total_ns, b.count) < std::tie(a.total_ns, a.count);
  });
  return all;
}

std::uint64_t observed_ns_of_all(const Report& report) {
  std::uint64_t sum = 0;
  for (const ReportCpu& cpu : report.cpus) sum = saturating_add(sum, cpu.observed_ns);
  return sum;
}

std::uint64_t stolen_ns_of_all(const Report& report) {
  std::uint64_t sum = 0;
  for (const ReportCpu& cpu : report.cpus) sum = saturating_add(sum, cpu.detour_ns);
  return sum;
}

std::uint64_t observed_ns_of(const Report& report, unsigned cpu) {
  const auto found =
      std::find_if(report.cpus.begin(), report.cpus.end(), [cpu](const ReportCpu& each) { return each.cpu == cpu; });
  return found == report.cpus.end() ? 0 : found->observed_ns;
}

bool timed(const ReportSource& source) { return source.kind != "page_fault" || source.max_ns != 0; }

bool is_event(const ReportSource& source) {
  return source.kind != "overhead" && source.kind != "hypervisor" && source.kind != "hardware" &&
         source.kind != "unexplained";
}

std::string short_label(std::string_view kind, std::string_view name) {
  return kind == name ? std::string(kind) : fmt::format("{}:{}", kind, name);
}

std::string short_label(const ReportSource& source) {
  const std::string label = short_label(source.kind, source.name);
  return source.pid == 0 ? label : fmt::format("{}[{}]", label, source.pid);
}

std::string short_labels(const std::vector<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels) {
    const std::size_t colon = std::min(label.find(':'), label.size());
    const std::string_view kind = std::string_view(label).substr(0, colon);
    const bool is_double = colon != label.size() && kind == std::string_view(label).substr(colon + 1);
    text += (text.empty() ? "" : " + ") + (is_double ? std::string(kind) : label);
  }
  return text;
}

std::string label(const ReportSource& source) { return source.kind + ":" + source.name; }

Cell time_of(const ReportSource& source, std::uint64_t ns) { return timed(source) ? time_cell(ns) : unknown_cell(); }

Cell share_of(const ReportSource& source) { return timed(source) ? share_cell(source.share) : unknown_cell(); }

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
