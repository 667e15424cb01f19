// SPDX-License-Identifier: Apache-2.0
// What the template's comments stand for, and what is no table.
#include "page/tasks_page.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <string_view>

#include <fmt/format.h>

#include "page/html.h"
#include "page/page_tables.h"
#include "views/text.h"
#include "views/watch.h"

namespace noised::page {
namespace {

constexpr double kStackWidth = 1000;

std::string title(const TasksPageInput& input) {
  return escape_html(fmt::format("Tasks of {}, {}", input.report.host, input.report.start));
}

std::string part(std::string_view name, const TasksPageInput& input) {
  struct Part {
    std::string_view name;
    std::string (*make)(const TasksPageInput&);
  };
  static constexpr std::array<Part, 10> kParts{{{"title", title},
                                                {"summary", tasks_summary},
                                                {"stack", tasks_stack},
                                                {"categories", tasks_category_table},
                                                {"sources", tasks_source_table},
                                                {"tasks", task_table},
                                                {"durations", task_duration_tables},
                                                {"losses", loss_table},
                                                {"combinations", tasks_combination_table},
                                                {"about", tasks_about_table}}};
  const auto found = std::find_if(kParts.begin(), kParts.end(), [&](const Part& it) { return it.name == name; });
  assert(found != kParts.end());
  return found->make(input);
}

}  // namespace

std::string render_tasks(const TasksPageInput& input) {
  return fill_template(kTasksTemplate, [&](std::string_view name) { return part(name, input); });
}

std::string tasks_summary(const TasksPageInput& input) {
  const WatchReport& watched = input.watched;
  return fmt::format(
      "Watched {} for {}: {} tasks ran. They were runnable for {} and lost {} of it, {}, in {} interruptions and "
      "waits; "
      "the longest took {}.",
      escape_html(watched.selection), duration_html(watched.elapsed_ns), grouped(watched.tasks_seen),
      duration_html(watched.runnable_ns), duration_html(watched.stolen_ns),
      share_html(watched.stolen_ns, watched.runnable_ns), grouped(watched.interruptions),
      duration_html(watched.max_interruption_ns));
}

std::string tasks_stack(const TasksPageInput& input) {
  std::string html = fmt::format(
      R"(<svg viewBox="0 0 {:.0f} 28" width="{:.0f}" height="28" role="img" aria-label="Stolen time by category">)",
      kStackWidth, kStackWidth);
  double at = 0;
  for (const auto& [name, ns] : views::category_times(input.watched)) {
    const double width = input.watched.stolen_ns == 0
                             ? 0
                             : kStackWidth * static_cast<double>(ns) / static_cast<double>(input.watched.stolen_ns);
    const auto category = category_named(name);
    if (!category) continue;
    html += fmt::format(R"(<rect class="part c-{}" x="{:.2f}" width="{:.2f}" height="28"><title>{} {}</title></rect>)",
                        to_string(*category), at, width, escape_html(name), share_html(ns, input.watched.stolen_ns));
    at += width;
  }
  return html + "</svg>";
}

namespace {

// A source that was counted and not timed: page faults, where the kernel does not let them be.
bool timed(const ReportSource& source) { return source.total_ns != 0 || source.max_ns != 0; }

std::vector<std::string> source_row(const WatchReport& watched, const ReportSource& source) {
  const auto time = [&](std::uint64_t ns) { return timed(source) ? duration_html(ns) : "not timed"; };
  return {category_html(source.category),
          code_html(source.kind + ":" + source.name),
          grouped(source.count),
          escape_html(views::format_rate(source.count, watched.runnable_ns)),
          time(source.total_ns),
          time(source.min_ns),
          time(source.mean_ns),
          time(source.max_ns),
          timed(source) ? share_html(source.total_ns, watched.stolen_ns) : "-"};
}

std::string biggest(const WatchTask& task) {
  std::string html;
  for (std::size_t i = 0; i < std::min<std::size_t>(task.categories.size(), 2); ++i) {
    const auto& [category, ns] = task.categories[i];
    if (ns == 0) break;
    html += (html.empty() ? "" : ", ") + category_html(category) + " " + share_html(ns, task.stolen_ns);
  }
  return html.empty() ? "-" : html;
}

std::vector<std::string> task_row(const WatchTask& task) {
  const WatchCounts& counts = task.counts;
  const std::uint64_t waited_ns = counts.preempted_ns + counts.queued_ns;
  return {std::to_string(task.pid),
          task.tgid == 0 ? "not known" : std::to_string(task.tgid),
          R"(<span class="name">)" + code_html(task.name) + "</span>",
          grouped(counts.runs),
          duration_html(counts.run_ns),
          duration_html(waited_ns),
          duration_html(counts.max_wait_ns),
          grouped(counts.voluntary) + " + " + grouped(counts.involuntary),
          grouped(counts.migrations),
          grouped(counts.minor_faults) + " + " + grouped(counts.major_faults),
          duration_html(task.stolen_ns),
          share_html(task.stolen_ns, counts.run_ns + waited_ns),
          biggest(task)};
}

// Buckets are 64 to a doubling: a row for each doubling.
std::string duration_table(std::string_view caption, const std::vector<HistogramBucketView>& buckets) {
  TableWriter table(caption, {">from", ">to", ">times", ">of all", ">so far"});
  std::uint64_t all = 0;
  for (const HistogramBucketView& bucket : buckets) all += bucket.count;
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < buckets.size();) {
    const std::uint64_t low_ns = buckets[i].low_ns;
    std::uint64_t high_ns = 0;
    std::uint64_t count = 0;
    for (; i < buckets.size() && std::bit_width(buckets[i].low_ns) == std::bit_width(low_ns); ++i) {
      high_ns = buckets[i].high_ns;
      count += buckets[i].count;
    }
    so_far += count;
    table.row({duration_html(low_ns), duration_html(high_ns), grouped(count), share_html(count, all),
               share_html(so_far, all)});
  }
  table.sum({"", "", grouped(all), share_html(all, all), ""});
  return table.finish();
}

}  // namespace

std::string tasks_category_table(const TasksPageInput& input) {
  const WatchReport& watched = input.watched;
  TableWriter table("Stolen time by category", {"category", ">time", ">of stolen time", ">of runnable time"});
  for (const auto& [category, ns] : views::category_times(watched)) {
    if (ns == 0) {
      table.row({category_html(category), "not timed", "-", "-"});
    } else {
      table.row({category_html(category), duration_html(ns), share_html(ns, watched.stolen_ns),
                 share_html(ns, watched.runnable_ns)});
    }
  }
  table.sum({"all", duration_html(watched.stolen_ns), share_html(watched.stolen_ns, watched.stolen_ns),
             share_html(watched.stolen_ns, watched.runnable_ns)});
  return table.finish();
}

std::string tasks_source_table(const TasksPageInput& input) {
  const std::vector<ReportSource>& sources = input.watched.sources;
  TableWriter table("Sources by stolen time", {"category", "source", ">count", ">per second", ">total", ">min", ">mean",
                                               ">max", ">of stolen time"});
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (i < kMostTaskSources) {
      table.row(source_row(input.watched, sources[i]));
    } else {
      count += sources[i].count;
      total_ns += sources[i].total_ns;
    }
  }
  if (count != 0) {
    table.row({"", fmt::format("{} other sources", sources.size() - kMostTaskSources), grouped(count), "",
               duration_html(total_ns), "", "", "", share_html(total_ns, input.watched.stolen_ns)});
  }
  return table.finish("Per second: of runnable time. Times are self times: what is nested has its own row.");
}

std::string task_table(const TasksPageInput& input) {
  const WatchReport& watched = input.watched;
  TableWriter table("Tasks by stolen time",
                    {">pid", ">process", "name", ">runs", ">ran", ">waited", ">longest", ">switches", ">moved",
                     ">faults", ">stolen", ">of runnable time", "mostly by"});
  for (const WatchTask& task : watched.tasks) table.row(task_row(task));
  std::string remark = "Waited: for a CPU. Switches: voluntary + involuntary. Faults: minor + major.";
  if (watched.tasks_seen > watched.tasks.size())
    remark +=
        fmt::format(" {} tasks that lost less are not shown one by one.", watched.tasks_seen - watched.tasks.size());
  return table.finish(remark);
}

std::string task_duration_tables(const TasksPageInput& input) {
  return duration_table("Runs: from being switched in to being switched out", input.watched.runs) +
         duration_table("Waits: runnable, without a CPU", input.watched.waits);
}

std::string loss_table(const TasksPageInput& input) {
  TableWriter table("The longest losses", {">at", ">CPU", ">pid", "task", "how", ">duration", "what it was"});
  for (std::size_t i = 0; i < std::min(input.longest.size(), kMostListedLosses); ++i) {
    const DetourView& loss = input.longest[i];
    table.row({duration_html(loss.start_ns - std::min(loss.start_ns, input.first_ns)), std::to_string(loss.cpu),
               std::to_string(loss.pid), code_html(loss.task), escape_html(loss.loss), duration_html(loss.duration_ns),
               entries_html(loss, {}) + (loss.incomplete ? " <em>(incomplete)</em>" : "")});
  }
  return table.finish("At: since the recording began.");
}

std::string tasks_combination_table(const TasksPageInput& input) {
  const std::vector<ReportCombination>& combinations = input.watched.combinations;
  TableWriter table("What came together in one loss",
                    {"sources, in order of their start", ">losses", ">total", ">longest", ">of stolen time"});
  std::uint64_t losses = 0;
  std::uint64_t total_ns = 0;
  for (std::size_t i = 0; i < combinations.size(); ++i) {
    const ReportCombination& it = combinations[i];
    if (i < kMostTaskCombinations) {
      table.row({sources_html(it.sources), grouped(it.count), duration_html(it.total_ns), duration_html(it.max_ns),
                 share_html(it.total_ns, input.watched.stolen_ns)});
    } else {
      losses += it.count;
      total_ns += it.total_ns;
    }
  }
  if (losses != 0) {
    table.row({fmt::format("{} other combinations", combinations.size() - kMostTaskCombinations), grouped(losses),
               duration_html(total_ns), "", share_html(total_ns, input.watched.stolen_ns)});
  }
  return table.finish();
}

std::string tasks_about_table(const TasksPageInput& input) {
  const WatchCounts& counts = input.watched.counts;
  TableWriter table("About this measurement", {"what", "value"});
  add_machine_rows(table, input.report, input.status, input.description);
  table.row({"watched CPUs", escape_html(input.watched.cpus)});
  table.row({"runs that nobody saw", fmt::format("{}, after {} of waits: in no figure above",
                                                 grouped(counts.unseen_runs), duration_html(counts.unseen_wait_ns))});
  table.row({"incomplete", grouped(input.watched.incomplete) + " losses, in which events were lost"});
  add_own_row(table, input.watched.sources, input.watched.stolen_ns);
  add_lost_row(table, input.watched.lost);
  add_unsupported_row(table, input.watched.unsupported);
  return table.finish();
}

}  // namespace noised::page
