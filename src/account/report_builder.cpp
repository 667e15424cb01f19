// SPDX-License-Identifier: Apache-2.0
// Names and order for what was counted.
#include "account/report_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>

namespace noised::account {
namespace {

ReportCpu build_cpu(const CpuSnapshot& cpu, const DetourTotals& totals) {
  ReportCpu built;
  built.cpu = cpu.cpu;
  built.mode = !cpu.watches_tasks ? "probe" : cpu.has_loop ? "auto" : "watch";
  built.observed_ns = cpu.observed_ns;
  built.iterations = cpu.iterations;
  built.threshold_ns = cpu.threshold_ns;
  built.detours = totals.detours;
  built.detour_ns = totals.detour_ns;
  built.max_detour_ns = totals.max_detour_ns;
  built.set_parts(totals);
  built.blind_ns = cpu.blind_ns;
  built.steal_ns = cpu.steal_ns;
  built.steal_step_ns = cpu.steal_step_ns;
  built.steal_source = cpu.steal_source;
  built.smi_count = cpu.smi_count;
  built.containment = cpu.containment.share();
  return built;
}

ReportSource build_source(const ReportCpu& cpu, const Source& source, const Moments& moments) {
  ReportSource built;
  built.cpu = cpu.cpu;
  built.category = to_string(source.category);
  built.kind = to_string(source.kind);
  built.name = source.name;
  built.count = moments.count();
  built.total_ns = moments.total_ns();
  built.min_ns = moments.min_ns();
  built.mean_ns = moments.mean_ns();
  built.max_ns = moments.max_ns();
  built.stddev_ns = moments.stddev_ns();
  const auto detour_ns = static_cast<double>(cpu.detour_ns);
  built.share = detour_ns > 0 ? static_cast<double>(moments.total_ns()) / detour_ns : 0;
  return built;
}

// By CPU, then total time, falling; then by name, so that a replay lists what the run did.
void sort_sources(std::vector<ReportSource>& sources) {
  std::stable_sort(sources.begin(), sources.end(), [](const ReportSource& a, const ReportSource& b) {
    return std::tie(a.cpu, b.total_ns, b.count, a.kind, a.name) < std::tie(b.cpu, a.total_ns, a.count, b.kind, b.name);
  });
}

// What both reports have.
Report begin_report(const Snapshot& snapshot, const RunDescription& run) {
  Report report;
  report.host = run.host;
  report.kernel = run.kernel;
  report.start = run.start;
  report.elapsed_ns = snapshot.elapsed_ns;
  report.clock = snapshot.clock;
  report.lost = snapshot.lost;
  report.unsupported = run.unsupported;
  return report;
}

std::vector<ReportPart> longest_of(const RecentCounts& counts, const SourceTable& sources) {
  std::vector<ReportPart> parts;
  for (const RecentSource& each : counts.sources) {
    const Source& source = sources.at(each.id);
    if (each.longest_ns != 0) parts.push_back({std::string(to_string(source.kind)), source.name, each.longest_ns});
  }
  std::ranges::stable_sort(parts, std::ranges::greater(), &ReportPart::self_ns);
  return parts;
}

std::string label(SourceId id, const SourceTable& sources) {
  if (id == kOtherSource) return "other";
  const Source& source = sources.at(id);
  return fmt::format("{}:{}", to_string(source.kind), source.name);
}

ReportCombination build_combination(const Combination& combination, const SourceTable& sources) {
  ReportCombination built;
  for (const SourceId id : combination.key.sources()) built.sources.push_back(label(id, sources));
  const Moments& moments = combination.moments;
  built.count = moments.count();
  built.total_ns = moments.total_ns();
  built.max_ns = moments.max_ns();
  built.min_ns = moments.min_ns();
  built.mean_ns = moments.mean_ns();
  built.stddev_ns = moments.stddev_ns();
  return built;
}

// The report's combinations have no CPU: those of all CPUs are added up.
std::vector<ReportCombination> build_combinations(const Snapshot& snapshot, const SourceTable& sources) {
  const auto cpus = static_cast<std::uint32_t>(snapshot.cpus.size());
  CombinationTable all(CombinationTable::kDefaultLimit * std::max(cpus, 1U));
  for (const CpuSnapshot& cpu : snapshot.cpus) all.merge(cpu.statistics.combinations());
  std::vector<ReportCombination> built;
  for (const Combination& combination : all.kept()) built.push_back(build_combination(combination, sources));
  if (all.other().moments.count() != 0) built.push_back(build_combination(all.other(), sources));
  return built;
}

HistogramSeriesView build_series(unsigned cpu, const Histogram& histogram) {
  HistogramSeriesView series;
  series.cpu = cpu;
  series.count = histogram.count();
  histogram.for_each(
      [&](const HistogramBucket& bucket) { series.buckets.push_back({bucket.low_ns, bucket.high_ns, bucket.count}); });
  return series;
}

}  // namespace

Report build_report(const Snapshot& snapshot, const SourceTable& sources, const RunDescription& run) {
  Report report = begin_report(snapshot, run);
  for (const CpuSnapshot& cpu : snapshot.cpus) {
    report.cpus.push_back(build_cpu(cpu, cpu.statistics.totals()));
    cpu.statistics.for_each_source([&](const SourceStatistics& statistics) {
      ReportSource built = build_source(report.cpus.back(), sources.at(statistics.id), statistics.moments);
      built.stretched = statistics.stretched;
      built.stolen_by_host_ns = statistics.stolen_ns;
      built.pid = statistics.pid;
      report.sources.push_back(std::move(built));
    });
  }
  sort_sources(report.sources);
  report.combinations = build_combinations(snapshot, sources);
  std::stable_sort(report.combinations.begin(), report.combinations.end(),
                   [](const ReportCombination& a, const ReportCombination& b) { return a.total_ns > b.total_ns; });
  return report;
}

Report build_recent(const Snapshot& snapshot, const SourceTable& sources, const RunDescription& run) {
  const RecentMark& before = snapshot.before;
  Report report = begin_report(snapshot, run);
  report.elapsed_ns -= before.elapsed_ns;
  report.clock.containment.reset();
  report.clock.containment_cpu.reset();
  report.lost = lost_between(before.lost, snapshot.lost);
  for (std::size_t place = 0; place < snapshot.cpus.size(); ++place) {
    const CpuSnapshot& cpu = snapshot.cpus[place];
    const RecentMark::Cpu since = place < before.cpus.size() ? before.cpus[place] : RecentMark::Cpu();
    ReportCpu& built = report.cpus.emplace_back(build_cpu(cpu, cpu.recent.totals));
    built.observed_ns -= std::min(built.observed_ns, since.observed_ns);
    built.iterations -= std::min(built.iterations, since.iterations);
    built.blind_ns -= std::min(built.blind_ns, since.blind_ns);
    built.steal_ns -= std::min(built.steal_ns, since.steal_ns);
    built.containment.reset();
    built.longest = longest_of(cpu.recent, sources);
    for (const RecentSource& source : cpu.recent.sources)
      report.sources.push_back(build_source(built, sources.at(source.id), source.moments));
  }
  sort_sources(report.sources);
  return report;
}

HistogramView build_histograms(const Snapshot& snapshot, const SourceTable& sources) {
  HistogramView view;
  view.relative_error = Histogram::kRelativeError;
  for (const CpuSnapshot& cpu : snapshot.cpus) {
    view.series.push_back(build_series(cpu.cpu, cpu.statistics.detours()));
    cpu.statistics.for_each_source([&](const SourceStatistics& statistics) {
      const Source& source = sources.at(statistics.id);
      HistogramSeriesView series = build_series(cpu.cpu, statistics.histogram);
      series.category = to_string(source.category);
      series.kind = to_string(source.kind);
      series.name = source.name;
      view.series.push_back(std::move(series));
    });
  }
  return view;
}

}  // namespace noised::account
