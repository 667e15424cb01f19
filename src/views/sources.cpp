// SPDX-License-Identifier: Apache-2.0
// Chan's merge (src/statistics/moments.cpp), from rows whose deviations are integers.
#include "views/all_cpus.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "statistics/saturating.h"
#include "views/format.h"

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

}  // namespace noised::views
