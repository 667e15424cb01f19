// SPDX-License-Identifier: Apache-2.0
// Subtracting reports, CPU by CPU and source by source.
#include "noisectl/top/delta.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <tuple>

#include "model/sources.h"
#include "views/sources.h"
#include "views/text.h"

namespace noised::client {
namespace {

using views::ratio;

using SourceKey = std::tuple<unsigned, std::string_view, std::string_view>;  // cpu, kind, name

SourceKey key_of(const ReportSource& source) { return {source.cpu, source.kind, source.name}; }

std::map<SourceKey, const ReportSource*> by_key(const Report& report) {
  std::map<SourceKey, const ReportSource*> sources;
  for (const ReportSource& source : report.sources) sources.emplace(key_of(source), &source);
  return sources;
}

const ReportCpu* find_cpu(const Report& report, unsigned cpu) {
  const auto found = std::find_if(report.cpus.begin(), report.cpus.end(),
                                  [cpu](const ReportCpu& candidate) { return candidate.cpu == cpu; });
  return found == report.cpus.end() ? nullptr : &*found;
}

// Snapshots are taken one after the other, not at one moment: a difference may be a little below zero.
std::uint64_t grown(std::uint64_t before, std::uint64_t after) { return after > before ? after - before : 0; }

double per_second(std::uint64_t count, std::uint64_t ns) { return 1e9 * ratio(count, ns); }

const HistogramSeriesView* detours_of(const std::optional<HistogramView>& histogram, unsigned cpu) {
  if (!histogram) return nullptr;
  for (const HistogramSeriesView& series : histogram->series)
    if (series.cpu == cpu && series.kind.empty()) return &series;
  return nullptr;
}

std::uint64_t count_at(const HistogramSeriesView* series, std::uint64_t low_ns) {
  if (series == nullptr) return 0;
  for (const HistogramBucketView& bucket : series->buckets)
    if (bucket.low_ns == low_ns) return bucket.count;
  return 0;
}

// A new maximum happened in the interval. An old one says nothing: then it is the highest bucket that grew.
std::uint64_t interval_max(const TopSample& before, const TopSample& after, const ReportCpu& was, const ReportCpu& is) {
  if (is.max_detour_ns > was.max_detour_ns) return is.max_detour_ns;
  const HistogramSeriesView* now = detours_of(after.histogram, is.cpu);
  if (now == nullptr) return 0;
  const HistogramSeriesView* then = detours_of(before.histogram, is.cpu);
  for (const HistogramBucketView& bucket : std::views::reverse(now->buckets))
    if (bucket.count > count_at(then, bucket.low_ns)) return std::min(bucket.high_ns, is.max_detour_ns);
  return 0;
}

TopCpu cpu_difference(const ReportCpu& was, const ReportCpu& is) {
  const std::uint64_t observed = grown(was.observed_ns, is.observed_ns);
  TopCpu cpu;
  cpu.cpu = is.cpu;
  cpu.noise_share = ratio(grown(was.detour_ns, is.detour_ns), observed);
  cpu.detours_per_second = per_second(grown(was.detours, is.detours), observed);
  cpu.max_ns = is.max_detour_ns;
  cpu.explained_share = ratio(grown(was.explained_ns, is.explained_ns), observed);
  cpu.overhead_share = ratio(grown(was.overhead_ns, is.overhead_ns), observed);
  cpu.hypervisor_share = ratio(grown(was.hypervisor_ns, is.hypervisor_ns), observed);
  cpu.hardware_share = ratio(grown(was.hardware_ns, is.hardware_ns), observed);
  cpu.unexplained_share = ratio(grown(was.unexplained_ns, is.unexplained_ns), observed);
  return cpu;
}

// What there was of it before.
struct Earlier {
  std::uint64_t total_ns = 0;
  std::uint64_t count = 0;
};

TopSource source_difference(const Earlier& was, const ReportSource& is, std::uint64_t observed_ns) {
  const std::uint64_t total = grown(was.total_ns, is.total_ns);
  TopSource source;
  source.key = {is.cpu, label_of(is.kind, is.name)};
  source.category = is.category;
  source.count = grown(was.count, is.count);
  source.per_second = per_second(source.count, observed_ns);
  source.stolen_share = ratio(total, observed_ns);
  source.mean_ns = source.count == 0 ? 0 : total / source.count;
  source.max_ns = is.max_ns;
  return source;
}

// A task whose name has left between the two is a part of the others: what it had before did not happen since.
std::map<SourceKey, Earlier> earlier_of(const Report& before, const Report& after) {
  const auto still = by_key(after);
  std::map<SourceKey, Earlier> earlier;
  for (const ReportSource& was : before.sources) {
    SourceKey key = key_of(was);
    if (was.kind == to_string(Kind::task) && !still.contains(key))
      key = {was.cpu, was.kind, is_own(Kind::task, was.name) ? kOwnOther : "other"};
    earlier[key].total_ns += was.total_ns;
    earlier[key].count += was.count;
  }
  return earlier;
}

}  // namespace

std::string label_of(const std::string& kind, const std::string& name) { return views::short_label(kind, name); }

bool restarted(const Report& before, const Report& after) {
  if (before.start != after.start || before.host != after.host || after.elapsed_ns < before.elapsed_ns) return true;
  return std::any_of(before.cpus.begin(), before.cpus.end(), [&after](const ReportCpu& was) {
    const ReportCpu* is = find_cpu(after, was.cpu);
    return is == nullptr || is->observed_ns < was.observed_ns || is->detours < was.detours;
  });
}

TopDelta difference(const TopSample& before, const TopSample& after) {
  TopDelta delta;
  delta.interval_ns = grown(before.report.elapsed_ns, after.report.elapsed_ns);
  std::map<unsigned, std::uint64_t> observed_ns;
  for (const ReportCpu& is : after.report.cpus) {
    const ReportCpu* found = find_cpu(before.report, is.cpu);
    const ReportCpu was = found == nullptr ? ReportCpu{} : *found;
    observed_ns[is.cpu] = grown(was.observed_ns, is.observed_ns);
    delta.cpus.push_back(cpu_difference(was, is));
    delta.cpus.back().interval_max_ns = interval_max(before, after, was, is);
  }
  const std::map<SourceKey, Earlier> earlier = earlier_of(before.report, after.report);
  for (const ReportSource& is : after.report.sources) {
    const auto was = earlier.find(key_of(is));
    delta.sources.push_back(source_difference(was == earlier.end() ? Earlier() : was->second, is, observed_ns[is.cpu]));
  }
  return delta;
}

}  // namespace noised::client
