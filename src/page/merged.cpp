// SPDX-License-Identifier: Apache-2.0
#include "page/merged.h"

#include <algorithm>
#include <cassert>
#include <tuple>

#include "views/all_cpus.h"
#include "views/source_cells.h"

namespace noised::page {
namespace {

using Name = std::pair<std::string, std::string>;  // kind, name

// A bucket's lower bound falls into the same bucket: nothing is lost on the way back into a histogram.
void add_buckets(const HistogramSeriesView& series, Histogram& to) {
  for (const HistogramBucketView& bucket : series.buckets) to.add(bucket.low_ns, bucket.count);
}

MergedSource& source_named(const Name& name, std::map<Name, MergedSource>& sources) {
  MergedSource& source = sources[name];
  source.kind = name.first;
  source.name = name.second;
  return source;
}

void take(const ReportSource& all, MergedSource& to) {
  to.category = category_named(all.category).value_or(Category::unexplained);
  to.count = all.count;
  to.total_ns = all.total_ns;
  to.min_ns = all.min_ns;
  to.mean_ns = all.mean_ns;
  to.max_ns = all.max_ns;
  to.timed = views::timed(all);
}

void set_tail(MergedSource& source) {
  source.p99_ns = source.histogram.quantile(0.99);
  source.histogram.for_each([&](const HistogramBucket& bucket) {
    if (bucket.low_ns > source.p99_ns) source.tail_count += bucket.count;
  });
}

std::vector<MergedSource> sorted(std::map<Name, MergedSource> sources) {
  std::vector<MergedSource> sorted;
  sorted.reserve(sources.size());
  for (auto& [name, source] : sources) sorted.push_back(std::move(source));
  std::stable_sort(sorted.begin(), sorted.end(), [](const MergedSource& a, const MergedSource& b) {
    return std::tie(a.total_ns, a.count) > std::tie(b.total_ns, b.count);
  });
  return sorted;
}

}  // namespace

Merged merge(const Report& report, const HistogramView& histograms) {
  Merged merged;
  std::map<unsigned, std::size_t> places;
  for (std::size_t i = 0; i < report.cpus.size(); ++i) places.emplace(report.cpus[i].cpu, i);
  merged.cpus.resize(report.cpus.size());

  std::map<Name, MergedSource> sources;
  for (const ReportSource& all : views::all_cpus(report)) {
    take(all, source_named({all.kind, all.name}, sources));
    if (!views::timed(all)) merged.untimed.insert(views::label(all));
  }
  for (const HistogramSeriesView& series : histograms.series) {
    if (!series.kind.empty()) {
      add_buckets(series, source_named({series.kind, series.name}, sources).histogram);
      continue;
    }
    add_buckets(series, merged.cpus[places.at(series.cpu)].detours);
    add_buckets(series, merged.all.detours);
  }
  merged.sources = sorted(std::move(sources));

  std::map<Name, std::size_t> numbers;
  for (MergedSource& source : merged.sources) {
    set_tail(source);
    numbers.emplace(Name{source.kind, source.name}, numbers.size());
  }
  for (const ReportSource& source : report.sources) {  // by CPU, then total time
    if (source.count == 0) continue;                   // all_cpus has none of these
    const std::size_t number = numbers.at({source.kind, source.name});
    const auto category = static_cast<std::size_t>(merged.sources[number].category);
    MergedCpu& cpu = merged.cpus[places.at(source.cpu)];
    cpu.categories[category] += source.total_ns;
    cpu.top.emplace_back(number, &source);
    merged.all.categories[category] += source.total_ns;
  }
  return merged;
}

}  // namespace noised::page
