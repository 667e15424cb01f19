// SPDX-License-Identifier: Apache-2.0
#include "views/ranks.h"
#include "base/text.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "views/text.h"
#include "views/views.h"

namespace noised::views {
namespace {

using Align = Table::Align;

constexpr std::size_t kRanksShown = 32;
constexpr std::size_t kCategoriesShown = 2;

// "preemption 57.7%, periodic 40.0%", of the rank's stolen time.
std::string biggest(const WatchRank& rank) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kCategoriesShown, rank.categories.size()); ++i) {
    const auto& [category, ns] = rank.categories[i];
    if (ns == 0) break;
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", printable(category), format_share(ratio(ns, rank.stolen_ns)));
  }
  return text.empty() ? "-" : text;
}

// The sums are of the report's tasks: these are not among them.
std::string missing(const WatchReport& report) {
  std::string text;
  if (report.tasks.size() < report.tasks_seen)
    text += fmt::format("not in the ranks: {} of {} tasks, which lost least, and are not in the report\n",
                        report.tasks_seen - report.tasks.size(), report.tasks_seen);
  if (report.rank_unknown != 0)
    text += fmt::format("rank not known: of {} {}, ended before a report, or not to be read by this user\n",
                        report.rank_unknown, report.rank_unknown == 1 ? "process" : "processes");
  return text;
}

}  // namespace

std::string ranks_text(const WatchReport& report) {
  if (report.ranks.empty()) return "";
  const bool one_job =
      std::ranges::all_of(report.ranks, [&](const WatchRank& rank) { return rank.job == report.ranks.front().job; });
  std::vector<Table::Column> columns{{"rank", Align::right},     {"processes", Align::right}, {"threads", Align::right},
                                     {"runnable", Align::right}, {"stolen", Align::right},    {"share", Align::right},
                                     {"mostly by", Align::left}};
  if (!one_job) columns.insert(columns.begin(), {"job", Align::left});
  Table table(columns);
  const std::size_t shown = std::min(kRanksShown, report.ranks.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const WatchRank& rank = report.ranks[i];
    std::vector<std::string> cells{std::to_string(rank.rank),
                                   std::to_string(rank.processes),
                                   std::to_string(rank.tasks),
                                   format_duration(rank.runnable_ns),
                                   format_duration(rank.stolen_ns),
                                   format_share(ratio(rank.stolen_ns, rank.runnable_ns)),
                                   biggest(rank)};
    if (!one_job) cells.insert(cells.begin(), rank.job.empty() ? "-" : printable(rank.job));
    table.add(cells);
  }
  return fmt::format("\nranks by stolen time (share: of their runnable time){}\n{}{}",
                     shown < report.ranks.size() ? fmt::format(": {} of {}", shown, report.ranks.size()) : "",
                     table.text(), missing(report));
}

}  // namespace noised::views
