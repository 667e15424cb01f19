// SPDX-License-Identifier: Apache-2.0
// Families by prometheus-cpp. Values are sums of integer nanoseconds; a double holds them exactly for 104 days, and to
// 1 part in 2^53 after.
#include "noised/api/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "account/lost_counts.h"
#include "base/text.h"

namespace noised::daemon {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Families = std::vector<MetricFamily>;
using Labels = std::vector<ClientMetric::Label>;

constexpr double kNsPerSecond = 1e9;
// Bounds at powers of two, from 256 ns to 1.07 s: there our own buckets begin, so none has to be split.
constexpr unsigned kFirstBound = 8;
constexpr unsigned kLastBound = 30;

double seconds(std::uint64_t ns) { return static_cast<double>(ns) / kNsPerSecond; }

MetricFamily& add_family(Families& families, const char* name, const char* help, MetricType type) {
  families.push_back({name, help, type, {}});
  return families.back();
}

void add_value(MetricFamily& family, Labels labels, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  if (family.type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family.metric.push_back(std::move(metric));
}

// `sum_ns` is exact; a duration of exactly a bound counts in the next bucket.
void add_histogram(MetricFamily& family, Labels labels, const Histogram& histogram, std::uint64_t sum_ns) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.histogram.sample_count = histogram.count();
  metric.histogram.sample_sum = seconds(sum_ns);
  unsigned bound = kFirstBound;
  std::uint64_t below = 0;
  const auto finish_until = [&](std::uint64_t low_ns) {
    for (; bound <= kLastBound && low_ns >= (std::uint64_t{1} << bound); ++bound) {
      metric.histogram.bucket.push_back({below, seconds(std::uint64_t{1} << bound)});
    }
  };
  histogram.for_each([&](const HistogramBucket& bucket) {
    finish_until(bucket.low_ns);
    below += bucket.count;
  });
  finish_until(UINT64_MAX);
  family.metric.push_back(std::move(metric));
}

std::string cpu_name(const account::CpuSnapshot& cpu) { return std::to_string(cpu.cpu); }

// One counter for each CPU.
template <typename Value>
void add_for_cpus(Families& families, const account::Snapshot& snapshot, const char* name, const char* help,
                  Value value) {
  MetricFamily& family = add_family(families, name, help, MetricType::Counter);
  for (const account::CpuSnapshot& cpu : snapshot.cpus) add_value(family, {{"cpu", cpu_name(cpu)}}, value(cpu));
}

void add_cpus(Families& families, const account::Snapshot& snapshot) {
  add_for_cpus(families, snapshot, "noised_detours_total",
               "Gaps in the measuring loop that were longer than its threshold; losses of watched tasks.",
               [](const account::CpuSnapshot& cpu) { return static_cast<double>(cpu.statistics.totals().detours); });
  add_for_cpus(
      families, snapshot, "noised_incomplete_detours_total", "Detours of which something was lost or cannot be known.",
      [](const account::CpuSnapshot& cpu) { return static_cast<double>(cpu.statistics.totals().incomplete_detours); });
  add_for_cpus(families, snapshot, "noised_observed_seconds_total",
               "Time in which the measuring loop watched its CPU; in mode watch, the runnable time of all tasks there; "
               "in mode auto, both.",
               [](const account::CpuSnapshot& cpu) { return seconds(cpu.observed_ns); });
  add_for_cpus(families, snapshot, "noised_blind_seconds_total",
               "Time in which the measuring loop was stopped or moved, and nobody watched its CPU.",
               [](const account::CpuSnapshot& cpu) { return seconds(cpu.blind_ns); });
  add_for_cpus(families, snapshot, "noised_steal_seconds_total", "Steal time that the hypervisor counted meanwhile.",
               [](const account::CpuSnapshot& cpu) { return seconds(cpu.steal_ns); });
  MetricFamily& durations =
      add_family(families, "noised_detour_duration_seconds", "How long detours lasted.", MetricType::Histogram);
  for (const account::CpuSnapshot& cpu : snapshot.cpus) {
    add_histogram(durations, {{"cpu", cpu_name(cpu)}}, cpu.statistics.detours(), cpu.statistics.totals().detour_ns);
  }
}

void add_own(Families& families, const account::Snapshot& snapshot, const SourceTable& sources) {
  add_for_cpus(families, snapshot, "noised_own_noise_seconds_total",
               "Time that threads of noised, and noisectl, took from a CPU; in noised_noise_seconds_total too.",
               [&](const account::CpuSnapshot& cpu) {
                 std::uint64_t own_ns = 0;
                 cpu.statistics.for_each_source([&](const SourceStatistics& statistics) {
                   const Source& source = sources.at(statistics.id);
                   if (is_own(source.kind, source.name)) own_ns += statistics.moments.total_ns();
                 });
                 return seconds(own_ns);
               });
}

// Absent is not zero: where nothing was lost, a 0 says so.
void add_losses(Families& families, const account::Snapshot& snapshot) {
  MetricFamily& family =
      add_family(families, "noised_lost_total", "What was lost or not seen, by reason.", MetricType::Counter);
  const auto count_of = [&](std::optional<unsigned> cpu, const char* reason) {
    std::uint64_t count = 0;
    for (const ReportLoss& loss : snapshot.lost.by) {
      if (loss.cpu == cpu && loss.reason == reason) count += loss.count;
    }
    return static_cast<double>(count);
  };
  for (const account::CpuSnapshot& cpu : snapshot.cpus) {
    for (const char* const reason : account::kCpuLossReasons) {
      add_value(family, {{"cpu", cpu_name(cpu)}, {"reason", reason}}, count_of(cpu.cpu, reason));
    }
  }
  for (const char* const reason : account::kMachineLossReasons) {
    add_value(family, {{"cpu", ""}, {"reason", reason}}, count_of(std::nullopt, reason));
  }
}

void add_programs(Families& families, const account::Snapshot& snapshot) {
  std::map<std::string, bool> attached;
  for (const ProgramView& program : snapshot.programs) {
    bool& any = attached[program.kind];
    any = any || !program.attached.empty();
  }
  MetricFamily& sources =
      add_family(families, "noised_source_attached",
                 "1 if this kind of source can be seen on this kernel, at least in part.", MetricType::Gauge);
  for (const auto& [kind, any] : attached) add_value(sources, {{"kind", kind}}, any ? 1 : 0);
  // By name: entry and exit of a function have the same.
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> runs_of;
  for (const ProgramView& program : snapshot.programs) {
    if (program.runs == 0) continue;
    runs_of[program.name].first += program.runs;
    runs_of[program.name].second += program.run_ns;
  }
  MetricFamily& runs = add_family(families, "noised_bpf_runs_total",
                                  "Runs of each BPF program, on all CPUs (with sysctl kernel.bpf_stats_enabled=1).",
                                  MetricType::Counter);
  for (const auto& [name, sums] : runs_of) add_value(runs, {{"program", name}}, static_cast<double>(sums.first));
  MetricFamily& run_seconds =
      add_family(families, "noised_bpf_run_seconds_total", "Time that these runs took.", MetricType::Counter);
  for (const auto& [name, sums] : runs_of) add_value(run_seconds, {{"program", name}}, seconds(sums.second));
}

void add_daemon(Families& families, const account::Snapshot& snapshot, const account::RunDescription& run) {
  add_value(add_family(families, "noised_build_info", "1; its labels tell what runs where.", MetricType::Gauge),
            {{"version", NOISED_VERSION}, {"kernel", run.kernel}}, 1);
  add_value(add_family(families, "noised_clock_uncertainty_seconds",
                       "How far the mapping between the loop's clock and the kernel's may be off.", MetricType::Gauge),
            {}, seconds(snapshot.clock.uncertainty_ns));
  if (snapshot.clock.containment) {
    add_value(add_family(families, "noised_containment_ratio",
                         "Share of the kernel's intervals that lie inside one detour, on the CPU where it is smallest; "
                         "below 0.999, believe nothing.",
                         MetricType::Gauge),
              {}, *snapshot.clock.containment);
  }
  add_value(add_family(families, "noised_ready", "1 if nothing was lost in the last minute.", MetricType::Gauge), {},
            account::complete_lately(snapshot) ? 1 : 0);
  MetricFamily& drains = add_family(families, "noised_drain_interval_seconds",
                                    "Time from one emptying of the ring buffers to the next.", MetricType::Histogram);
  add_histogram(drains, {}, snapshot.drain_intervals, snapshot.drain_intervals_ns);
}

}  // namespace

// The two families with a series for each source, and what is over the cap.
struct SourceFamilies {
  MetricFamily time{"noised_noise_seconds_total", "Time taken from a CPU, by source.", MetricType::Counter, {}};
  MetricFamily count{"noised_interruptions_total", "How often each source took time.", MetricType::Counter, {}};

  void add(const std::string& cpu, Category category, Kind kind, const std::string& source, std::uint64_t ns,
           std::uint64_t times) {
    const Labels labels = {{"cpu", cpu},
                           {"category", std::string(to_string(category))},
                           {"kind", std::string(to_string(kind))},
                           {"source", as_utf8(source)}};
    add_value(time, labels, seconds(ns));
    add_value(count, labels, static_cast<double>(times));
  }

  using Others = std::map<std::pair<Category, Kind>, Metrics::Sum>;

  void add_public(Metrics& metrics, Metrics::Cpu& known, const account::CpuSnapshot& cpu, const SourceTable& names,
                  Others& others) {
    for (SourceId id = 0; id < cpu.public_sums.size(); ++id) {
      const Metrics::Sum sum{cpu.public_sums[id].ns, cpu.public_sums[id].times};
      if (sum.times == 0) continue;
      const Source& source = names.at(id);
      if (source.name != "other" && metrics.decide(known.of_tasks, id, false).own_series) {
        add(cpu_name(cpu), source.category, source.kind, source.name, sum.ns, sum.times);
      } else {
        Metrics::add(others[{source.category, source.kind}], sum);
      }
    }
  }

  void add_cpu(Metrics& metrics, std::size_t index, const account::CpuSnapshot& cpu, const MetricSources& sources) {
    const std::string name = cpu_name(cpu);
    if (metrics.cpus_.size() <= index) metrics.cpus_.resize(index + 1);
    Metrics::Cpu& known = metrics.cpus_[index];
    metrics.forget_departed(known, cpu.statistics);
    Others others;
    cpu.statistics.for_each_source([&](const SourceStatistics& statistics) {
      const Source& source = sources.all.at(statistics.id);
      Metrics::Sum sum{statistics.moments.total_ns(), statistics.moments.count()};
      const bool is_task = source.kind == Kind::task;
      if (is_task && sources.of_tasks != nullptr) return;
      // What series told that have ended does not come again: it would be a jump, and a rate that never was.
      if (is_task && source.name == "other") Metrics::take(sum, known.departed);
      if (is_task && source.name == kOwnOther) Metrics::take(sum, known.own_departed);
      // A full table of sources has an "other" of its own.
      if (source.name != "other") {
        Metrics::Decision& decision = metrics.decide(known.decisions, statistics.id, is_own(source.kind, source.name));
        if (decision.own_series) {
          decision.told = sum;
          add(name, source.category, source.kind, source.name, sum.ns, sum.times);
          return;
        }
      }
      Metrics::add(others[{source.category, source.kind}], sum);
    });
    if (sources.of_tasks != nullptr) add_public(metrics, known, cpu, *sources.of_tasks, others);
    for (const auto& [key, sum] : others) add(name, key.first, key.second, "other", sum.ns, sum.times);
  }
};

void Metrics::add(Sum& sum, const Sum& more) {
  sum.ns += more.ns;
  sum.times += more.times;
}

void Metrics::take(Sum& sum, const Sum& less) {
  sum.ns -= std::min(sum.ns, less.ns);
  sum.times -= std::min(sum.times, less.times);
}

Metrics::Decision& Metrics::decide(Decisions& decisions, SourceId source, bool of_noised) {
  const std::size_t slot = SourceTable::slot_of(source);
  if (decisions.size() <= slot) decisions.resize(slot + 1);
  Decision& decision = decisions[slot];
  if (!decision.made) {
    decision = {source, true, admitted_count_ < series_cap_, of_noised, {}};
    ++(decision.own_series ? admitted_count_ : over_cap_);
  }
  return decision;
}

// Their series are free, and what these told is counted in others' sources.
void Metrics::forget_departed(Cpu& cpu, const CpuStatistics& statistics) {
  for (Decision& decision : cpu.decisions) {
    if (!decision.made || statistics.source(decision.source) != nullptr) continue;
    --(decision.own_series ? admitted_count_ : over_cap_);
    add(decision.of_noised ? cpu.own_departed : cpu.departed, decision.told);
    decision = Decision();
  }
}

std::string Metrics::text(const account::Snapshot& snapshot, const MetricSources& sources,
                          const account::RunDescription& run) {
  Families families;
  add_daemon(families, snapshot, run);
  add_cpus(families, snapshot);
  SourceFamilies of_sources;
  for (std::size_t index = 0; index < snapshot.cpus.size(); ++index) {
    of_sources.add_cpu(*this, index, snapshot.cpus[index], sources);
  }
  families.push_back(std::move(of_sources.time));
  families.push_back(std::move(of_sources.count));
  add_value(
      add_family(families, "noised_sources_over_cap",
                 "Sources of a CPU without series of their own (service.series_cap), counted in source=\"other\".",
                 MetricType::Gauge),
      {}, static_cast<double>(over_cap_));
  add_value(
      add_family(families, "noised_sources_unnamed_total",
                 "Times that a source found no room in a table of names (of reports, or of these metrics), and was "
                 "counted in \"other\".",
                 MetricType::Counter),
      {},
      static_cast<double>(sources.all.overflowed() +
                          (sources.of_tasks == nullptr ? 0 : sources.of_tasks->overflowed())));
  add_value(
      add_family(families, "noised_sources_departed_total",
                 "Names of tasks that were silent for long and left the table, where it was crowded: in reports, what "
                 "they took is counted in \"other\" since; here too, with metric_names = \"tasks\".",
                 MetricType::Counter),
      {}, static_cast<double>(sources.all.departed()));
  add_own(families, snapshot, sources.all);
  add_losses(families, snapshot);
  add_programs(families, snapshot);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace noised::daemon
