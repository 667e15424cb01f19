// SPDX-License-Identifier: Apache-2.0
// The watch for people: what was taken from the tasks while they were runnable, and by whom.
#include "views/watch.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "base/saturating.h"
#include "base/text.h"
#include "model/json_parts.h"
#include "views/lost.h"
#include "views/marked_phases.h"
#include "views/own.h"
#include "views/ranks.h"
#include "views/sources.h"
#include "views/text.h"
#include "views/views.h"

namespace noised::views {
std::string to_json(const WatchReport& report) { return dump(fields_json(report, kWatchFields)); }

Result<WatchReport> parse_watch(std::string_view json) { return parse_as<WatchReport>(json, "watch", kWatchFields); }

namespace {

using Align = Table::Align;

// A page, not a listing: JSON has all of them.
constexpr std::size_t kWatchSourcesShown = 30;
constexpr std::size_t kTasksShown = 20;

std::string plural(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// ": 30 of 217" where not all are shown.
std::string part_of(std::size_t shown, std::uint64_t all) {
  return shown < all ? fmt::format(": {} of {}", shown, all) : "";
}

std::uint64_t runnable_ns(const WatchCounts& counts) {
  return saturating_add(counts.run_ns, saturating_add(counts.preempted_ns, counts.queued_ns));
}

std::string head(const WatchReport& report) {
  const bool by_name = report.selection.starts_with("comm ");
  const char* const none =
      by_name ? "no task of that name ran there: a name has 15 bytes at most, 'ps -e -o comm' shows them\n"
              : "none of them ran there\n";
  return fmt::format("{} {} on CPU {} for {}{}: {} ran\n{}\n", report.final ? "watched" : "watching",
                     printable(report.selection), printable(report.cpus.empty() ? "-" : report.cpus),
                     format_duration(report.elapsed_ns), report.final ? "" : " so far",
                     plural(report.tasks_seen, "task", "tasks"), report.tasks_seen == 0 ? none : "");
}

// Some kernels do not let faults be timed: then they are counted, and their time is in no source.
bool faults_untimed(const WatchReport& report) {
  const bool any = report.counts.minor_faults != 0 || report.counts.major_faults != 0;
  return any && std::none_of(report.sources.begin(), report.sources.end(), [](const ReportSource& source) {
           return source.kind == "page_fault" && source.total_ns != 0;
         });
}

// The ways into the kernel and out of it are in no event.
std::string untold_text(const WatchUntold& untold) {
  if (untold.interrupted == 0) return "";
  const std::uint64_t others = untold.interrupted - std::min(untold.interrupted, untold.estimated);
  std::string text = fmt::format("untold    the ways into the kernel and out of it, around {}",
                                 plural(untold.interrupted, "interrupt", "interrupts"));
  if (untold.estimated == 0) return text + ": not known; stolen is at least\n";
  text += fmt::format(":\n          {} of the timer took some {} more by the mean, {} by the longest, of {} measured",
                      untold.estimated, format_duration(untold.rest_ns), format_duration(untold.rest_most_ns),
                      untold.measured);
  if (others != 0) text += fmt::format("; {} others: not known", others);
  return text + "\n";
}

std::string totals(const WatchReport& report) {
  const WatchCounts& counts = report.counts;
  std::string text = fmt::format("runnable  {}: {} on a CPU, {} preempted, {} queued after a wakeup\n",
                                 format_duration(report.runnable_ns), format_duration(counts.run_ns),
                                 format_duration(counts.preempted_ns), format_duration(counts.queued_ns));
  text +=
      fmt::format("stolen    {}, {} of that, in {}: {} per runnable second, the longest {}\n",
                  format_duration(report.stolen_ns), format_share(ratio(report.stolen_ns, report.runnable_ns)),
                  plural(report.interruptions, "interruption", "interruptions"),
                  format_rate(report.interruptions, report.runnable_ns), format_duration(report.max_interruption_ns));
  text += fmt::format("noised    and noisectl took of it: {}\n", own_noise_text(report.sources, report.stolen_ns));
  if (report.untold) text += untold_text(*report.untold);
  if (report.steal) {
    const bool is_exact = report.steal->step_ns == 1;
    text += fmt::format("steal     {}, the host's, while they had a CPU: by their share of its time, {}\n",
                        format_duration(report.steal->ns),
                        is_exact ? "counted at its ticks" : "to " + format_duration(report.steal->step_ns) + " a CPU");
  }
  text += fmt::format("switches  {} voluntary, {} involuntary; {}\n", counts.voluntary, counts.involuntary,
                      plural(counts.migrations, "migration", "migrations"));
  if (counts.yields != 0) {
    text += fmt::format("yields    {} of the involuntary switches: they gave away {}, which nobody stole\n",
                        counts.yields, format_duration(counts.yielded_ns));
  }
  text += fmt::format("faults    {} minor, {} major{}\n", counts.minor_faults, counts.major_faults,
                      faults_untimed(report) ? ", whose time is not known: it counts as the tasks' own" : "");
  return text;
}

/// What a histogram tells: the quantiles as upper bounds of their buckets, the mean by the buckets' middles.
struct Summary {
  std::uint64_t count = 0;
  std::uint64_t mean_ns = 0;
  std::uint64_t median_ns = 0;
  std::uint64_t p99_ns = 0;
  std::uint64_t max_ns = 0;
};

std::uint64_t quantile(const std::vector<HistogramBucketView>& buckets, std::uint64_t count, double q) {
  const double rank = std::ceil(q * static_cast<double>(count));
  std::uint64_t below = 0;
  for (const HistogramBucketView& bucket : buckets) {
    below = saturating_add(below, bucket.count);
    if (static_cast<double>(below) >= rank) return bucket.high_ns;
  }
  return 0;
}

// `longest_ns` is known exactly for some: no bound is above it. 0: not known.
Summary summary_of(const std::vector<HistogramBucketView>& buckets, std::uint64_t longest_ns) {
  Summary summary;
  double sum = 0;
  for (const HistogramBucketView& bucket : buckets) {
    summary.count = saturating_add(summary.count, bucket.count);
    summary.max_ns = std::max(summary.max_ns, bucket.high_ns);
    sum += static_cast<double>(bucket.count) *
           (static_cast<double>(bucket.low_ns) + static_cast<double>(bucket.high_ns)) / 2;
  }
  if (summary.count == 0) return summary;
  if (longest_ns != 0) summary.max_ns = std::min(summary.max_ns, longest_ns);
  const double mean = sum / static_cast<double>(summary.count);
  summary.mean_ns = summary.max_ns;  // also where rounding would exceed it, and the type
  if (mean < static_cast<double>(summary.max_ns)) summary.mean_ns = static_cast<std::uint64_t>(mean);
  summary.median_ns = std::min(summary.max_ns, quantile(buckets, summary.count, 0.5));
  summary.p99_ns = std::min(summary.max_ns, quantile(buckets, summary.count, 0.99));
  return summary;
}

std::string durations(const WatchReport& report) {
  if (report.runs.empty() && report.waits.empty()) return "";
  Table table({{"how long", Align::left},
               {"times", Align::right},
               {"mean", Align::right},
               {"p50", Align::right},
               {"p99", Align::right},
               {"max", Align::right}});
  const auto add = [&table](const char* what, const Summary& summary) {
    if (summary.count == 0) return table.add({what, "0", "-", "-", "-", "-"});
    table.add({what, std::to_string(summary.count), format_duration(summary.mean_ns),
               format_duration(summary.median_ns), format_duration(summary.p99_ns), format_duration(summary.max_ns)});
  };
  add("a task ran until it was switched out", summary_of(report.runs, 0));
  add("a runnable task waited for a CPU", summary_of(report.waits, report.counts.max_wait_ns));
  return "\n" + table.text();
}

std::string categories(const WatchReport& report) {
  const std::vector<CategoryTime> times = category_times(report);
  if (times.empty()) return "\nnothing was taken from them\n";
  Table table(
      {{"category", Align::left}, {"total", Align::right}, {"share", Align::right}, {"of runnable", Align::right}});
  for (const auto& [category, ns] : times) {
    if (ns == 0) {  // faults, where the kernel does not let them be timed
      table.add({printable(category), "not timed", "-", "-"});
    } else {
      table.add({printable(category), format_duration(ns), format_share(ratio(ns, report.stolen_ns)),
                 format_share(ratio(ns, report.runnable_ns))});
    }
  }
  return "\nstolen time by category (share: of the stolen time)\n" + table.text();
}

std::string sources(const WatchReport& report) {
  if (report.sources.empty()) return "";
  Table table({{"category", Align::left},
               {"source", Align::left},
               {"count", Align::right},
               {"total", Align::right},
               {"mean", Align::right},
               {"max", Align::right},
               {"share", Align::right}});
  const std::size_t shown = std::min(kWatchSourcesShown, report.sources.size());
  std::vector<const ReportSource*> rows;
  rows.reserve(shown);
  for (std::size_t i = 0; i < shown; ++i) rows.push_back(&report.sources[i]);
  // What nobody did comes last.
  std::ranges::stable_partition(rows, [](const ReportSource* each) { return is_event(*each); });
  for (const ReportSource* const each : rows) {
    const ReportSource& source = *each;
    table.add({printable(source.category), printable(short_label(source)), std::to_string(source.count),
               time_of(source, source.total_ns).text, time_of(source, source.mean_ns).text,
               time_of(source, source.max_ns).text, share_of(source).text});
  }
  return fmt::format("\nsources by stolen time (share: of the stolen time){}\n{}",
                     part_of(shown, report.sources.size()), table.text());
}

// "preemption 57.7%", of the task's stolen time.
std::string biggest(const WatchTask& task) {
  if (task.categories.empty() || task.stolen_ns == 0) return "-";
  const auto& [category, ns] = *std::max_element(task.categories.begin(), task.categories.end(),
                                                 [](const auto& a, const auto& b) { return a.second < b.second; });
  return fmt::format("{} {}", printable(category), format_share(ratio(ns, task.stolen_ns)));
}

std::string tasks(const WatchReport& report) {
  if (report.tasks.empty()) return "";
  Table table({{"pid", Align::right},
               {"name", Align::left},
               {"runs", Align::right},
               {"ran", Align::right},
               {"waited", Align::right},
               {"stolen", Align::right},
               {"share", Align::right},
               {"mostly by", Align::left}});
  const std::size_t shown = std::min(kTasksShown, report.tasks.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const WatchTask& task = report.tasks[i];
    table.add({std::to_string(task.pid), printable(task.name), std::to_string(task.counts.runs),
               format_duration(task.counts.run_ns),
               format_duration(saturating_add(task.counts.preempted_ns, task.counts.queued_ns)),
               format_duration(task.stolen_ns), format_share(ratio(task.stolen_ns, runnable_ns(task.counts))),
               biggest(task)});
  }
  return fmt::format("\ntasks by stolen time (share: of their runnable time){}\n{}",
                     part_of(shown, std::max<std::uint64_t>(report.tasks_seen, report.tasks.size())), table.text());
}

std::string unknown(const WatchReport& report) {
  std::string text = fmt::format("\nlost: {}\n", lost_text(report.lost));
  if (report.incomplete != 0)
    text += fmt::format("incomplete: {}, in which something was lost\n",
                        plural(report.incomplete, "interruption", "interruptions"));
  if (report.counts.unseen_runs != 0 || report.counts.unseen_wait_ns != 0)
    text +=
        fmt::format("unseen: {}, lost or on a CPU that is not watched, after {} of waits: in no figure above\n",
                    plural(report.counts.unseen_runs, "run", "runs"), format_duration(report.counts.unseen_wait_ns));
  return text + unsupported_text(report.unsupported);
}

}  // namespace

// What the ledger has in no source must be in it too, or it would not add up.
std::vector<CategoryTime> category_times(const WatchReport& report) {
  std::map<std::string, std::uint64_t> times;
  for (const ReportSource& source : report.sources) {
    std::uint64_t& ns = times[source.category];
    ns = saturating_add(ns, source.total_ns);
  }
  const std::pair<const char*, std::uint64_t> ledger[] = {{"overhead", report.overhead_ns},
                                                          {"hypervisor", report.hypervisor_ns},
                                                          {"hardware", report.hardware_ns},
                                                          {"unexplained", report.unexplained_ns}};
  for (const auto& [category, ns] : ledger) {
    if (ns != 0) times[category] = std::max(times[category], ns);
  }
  std::vector<CategoryTime> sorted(times.begin(), times.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

std::string to_text(const WatchReport& report) {
  return head(report) + totals(report) + durations(report) + categories(report) + sources(report) + ranks_text(report) +
         tasks(report) + marked_text(report) + unknown(report);
}

std::string summary_line(const WatchReport& report) {
  const auto worst = std::max_element(report.sources.begin(), report.sources.end(),
                                      [](const auto& a, const auto& b) { return a.total_ns < b.total_ns; });
  const bool any = worst != report.sources.end() && worst->total_ns != 0;
  return fmt::format(
      "{:>7}  runnable {:>7}  stolen {:>7}  {:>7}  {}", format_duration(report.elapsed_ns),
      format_duration(report.runnable_ns), format_duration(report.stolen_ns),
      format_share(ratio(report.stolen_ns, report.runnable_ns)),
      any ? fmt::format("most by {} {}", printable(short_label(*worst)), format_duration(worst->total_ns))
          : "nothing yet");
}

}  // namespace noised::views
