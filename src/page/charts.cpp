// SPDX-License-Identifier: Apache-2.0
#include "page/charts.h"

#include <algorithm>
#include <cassert>
#include <tuple>

#include <fmt/format.h>

#include "views/sources.h"

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

Placing::Left& Placing::owner() {
  while (!open_.empty() && open_.back().ns == 0) open_.pop_back();
  if (!open_.empty()) return open_.back();
  const auto left = std::find_if(outside_.begin(), outside_.end(), [](const Left& kind) { return kind.ns != 0; });
  assert(left != outside_.end());  // a ledger adds up
  return *left;
}

void Placing::advance(std::uint64_t to_ns) {
  while (cursor_ns_ < to_ns) {
    Left& left = owner();
    const std::uint64_t ns = std::min(left.ns, to_ns - cursor_ns_);
    pieces_.push_back({left.category, cursor_ns_, cursor_ns_ + ns});
    left.ns -= ns;
    cursor_ns_ += ns;
  }
}

std::span<const Piece> Placing::place(const account::DetourLedger& ledger) {
  pieces_.clear();
  open_.clear();
  outside_ = {};
  std::size_t outside = 0;
  ledger.for_each_gap([&](Kind kind, std::uint64_t ns) { outside_[outside++] = {category_of(kind, {}), ns}; });
  cursor_ns_ = ledger.detour.start_ns;
  for (const account::LedgerEntry& entry : ledger.entries) {
    if (entry.self_ns == 0) continue;
    advance(entry.start_ns);
    open_.push_back({sources_.at(entry.source).category, entry.self_ns});
  }
  advance(ledger.detour.end_ns);
  return pieces_;
}

Tails::Tails(const std::vector<MergedSource>& sources, const recording::Playback& playback) : playback_(playback) {
  for (std::size_t i = 0; i < sources.size(); ++i)
    named_[{sources[i].kind, sources[i].name}] = {true, i, sources[i].p99_ns, 0, 0};
}

Tails::Tail& Tails::tail_of(SourceId id) {
  if (id >= tails_.size()) tails_.resize(id + 1);
  Tail& tail = tails_[id];
  if (tail.known) return tail;
  const Source& source = playback_.sources().at(id);
  const auto found = named_.find({std::string(to_string(source.kind)), source.name});
  tail = found == named_.end() ? Tail{true, SIZE_MAX, 0, 0, 0} : found->second;
  return tail;
}

void Tails::add(SourceId id, std::uint64_t ns) {
  Tail& tail = tail_of(id);
  if (ns <= tail.above_ns) return;
  ++tail.count;
  tail.total_ns += ns;
}

void Tails::detour(std::size_t /*cpu*/, const account::DetourLedger& ledger, std::string_view /*details*/) {
  for (const account::LedgerEntry& entry : ledger.entries) add(entry.source, entry.self_ns);
  const SourceTable& sources = playback_.sources();
  ledger.for_each_gap([&](Kind kind, std::uint64_t ns) { add(sources.gap(kind), ns); });
}

bool Tails::set(std::vector<MergedSource>& sources) const {
  std::vector<std::uint64_t> counts(sources.size(), 0);
  for (const Tail& tail : tails_) {
    if (!tail.known || tail.count == 0) continue;
    if (tail.source >= sources.size()) return false;
    counts[tail.source] += tail.count;
    sources[tail.source].tail_ns += tail.total_ns;
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (counts[i] != sources[i].tail_count) return false;
  }
  return true;
}

namespace {

constexpr std::size_t kMostDensities = 8;

std::string number(const std::optional<double>& distance) {
  return distance ? fmt::format("{:.4f}", *distance) : "not defined";
}

std::string cpu_note(const analysis::DensityComparison& cpu) {
  return fmt::format(
      " CPU {}: {} as seen; {} without the {} detours that have no kernel activity and the {} stretches in no detour; "
      "{} once overhead and time without a cause are taken out too.",
      cpu.cpu, number(cpu.as_seen), number(cpu.with_activity), cpu.detours - cpu.detours_with_activity,
      cpu.stretches - cpu.stretches_in_detours, number(cpu.explained));
}

std::string note(const analysis::DensityCurves& all, std::vector<analysis::DensityComparison>& cpus) {
  std::string text = fmt::format(
      "Parzen windows: Gaussian over the logarithm of the duration, {:.3f} decades wide. Distance of the two (of "
      "Kolmogorov and Smirnov; 0 is the same, 1 apart altogether)",
      all.bandwidth);
  std::stable_sort(cpus.begin(), cpus.end(),
                   [](const analysis::DensityComparison& one, const analysis::DensityComparison& other) {
                     return one.explained.value_or(0) > other.explained.value_or(0);
                   });
  if (cpus.size() > kMostDensities) {
    text += fmt::format(", of the {} of {} CPUs where most of it stays unexplained", kMostDensities, cpus.size());
    cpus.resize(kMostDensities);
  }
  text += ":";
  for (const analysis::DensityComparison& cpu : cpus) text += cpu_note(cpu);
  return text;
}

}  // namespace

DensityChart density_chart(const analysis::DensityCurves& all, std::vector<analysis::DensityComparison> cpus) {
  DensityChart chart;
  chart.unit = "share per tenfold of the duration";
  chart.note = note(all, cpus);
  DensityCurve user{"seen by the loop", {}};
  DensityCurve rebuilt{"rebuilt from the kernel's events", {}};
  for (const analysis::DensityPoint& point : all.points) {
    user.points.emplace_back(point.duration_ns, point.user);
    rebuilt.points.emplace_back(point.duration_ns, point.rebuilt);
  }
  if (!all.points.empty()) chart.curves = {std::move(user), std::move(rebuilt)};
  return chart;
}

}  // namespace noised::page
