// SPDX-License-Identifier: Apache-2.0
// The JSON fields of each result of report.h, views.h and watch.h, listed once: names and order are the contract's.
#pragma once

#include <algorithm>
#include <vector>

#include "model/check.h"
#include "model/json_fields.h"
#include "model/report.h"
#include "model/views.h"
#include "model/watch.h"

namespace noised {

/// The containment is null before the first interval.
inline constexpr auto kClockFields = [](auto& clock, const auto& field) {
  field("source", clock.source);
  field("uncertainty_ns", clock.uncertainty_ns);
  field("containment", clock.containment);
  field.later("containment_cpu", clock.containment_cpu);
};

inline constexpr auto kLostByFields = [](auto& loss, const auto& field) {
  field("cpu", loss.cpu);
  field("reason", loss.reason);
  field("count", loss.count);
};

inline constexpr auto kLostFields = [](auto& lost, const auto& field) {
  field("events", lost.events);
  field("detours", lost.detours);
  field("unpaired", lost.unpaired);
  field("missed_runs", lost.missed_runs);
  field("incomplete_detours", lost.incomplete_detours);
  field("by", lost.by, kLostByFields);
};

/// The lost counters as a JSON object.
inline Json lost_json(const ReportLost& lost) { return fields_json(lost, kLostFields); }

/// The five parts of stolen time, of a CPU or of watched tasks.
inline constexpr auto kPartFields = [](auto& ledger, const auto& field) {
  field("explained_ns", ledger.explained_ns);
  field("overhead_ns", ledger.overhead_ns);
  field("hypervisor_ns", ledger.hypervisor_ns);
  field("hardware_ns", ledger.hardware_ns);
  field("unexplained_ns", ledger.unexplained_ns);
};

inline constexpr auto kPartOfDetourFields = [](auto& part, const auto& field) {
  field("kind", part.kind);
  field("name", part.name);
  field("self_ns", part.self_ns);
};

inline constexpr auto kCpuFields = [](auto& cpu, const auto& field) {
  field("cpu", cpu.cpu);
  field("mode", cpu.mode);
  field("observed_ns", cpu.observed_ns);
  field("iterations", cpu.iterations);
  field("threshold_ns", cpu.threshold_ns);
  field("detours", cpu.detours);
  field("detour_ns", cpu.detour_ns);
  field("max_detour_ns", cpu.max_detour_ns);
  kPartFields(cpu, field);
  field("blind_ns", cpu.blind_ns);
  field("steal_ns", cpu.steal_ns);
  field("steal_step_ns", cpu.steal_step_ns);
  if (field.has("steal_source", cpu.steal_source)) field("steal_source", cpu.steal_source);
  field("smi_count", cpu.smi_count);
  field.later("containment", cpu.containment);
  if (field.has("longest", cpu.longest)) field("longest", cpu.longest, kPartOfDetourFields);
};

/// Without its CPU: sources of watched tasks have none.
inline constexpr auto kSourceFields = [](auto& source, const auto& field) {
  field("category", source.category);
  field("kind", source.kind);
  field("name", source.name);
  field("count", source.count);
  field("total_ns", source.total_ns);
  field("min_ns", source.min_ns);
  field("mean_ns", source.mean_ns);
  field("max_ns", source.max_ns);
  field("stddev_ns", source.stddev_ns);
  field("share", source.share);
  if (field.has("stretched", source.stretched)) {
    field("stretched", source.stretched);
    field("stolen_by_host_ns", source.stolen_by_host_ns);
  }
  if (field.has("pid", source.pid)) field("pid", source.pid);
};

inline constexpr auto kCpuSourceFields = [](auto& source, const auto& field) {
  field("cpu", source.cpu);
  kSourceFields(source, field);
};

inline constexpr auto kCombinationFields = [](auto& combination, const auto& field) {
  field("sources", combination.sources);
  field("count", combination.count);
  field("total_ns", combination.total_ns);
  field("max_ns", combination.max_ns);
  field("min_ns", combination.min_ns);
  field("mean_ns", combination.mean_ns);
  field("stddev_ns", combination.stddev_ns);
};

inline constexpr auto kReportFields = [](auto& report, const auto& field) {
  field.schema("noised.report/1");
  field("host", report.host);
  field("kernel", report.kernel);
  field("start", report.start);
  field("elapsed_ns", report.elapsed_ns);
  field("clock", report.clock, kClockFields);
  field("lost", report.lost, kLostFields);
  field("unsupported", report.unsupported);
  field("cpus", report.cpus, kCpuFields);
  field("sources", report.sources, kCpuSourceFields);
  field("combinations", report.combinations, kCombinationFields);
};

inline constexpr auto kExcessFields = [](auto& excess, const auto& field) {
  field("cpu", excess.cpu);
  field.nullable("source", excess.source);
  if (field.has("found_ns", excess.found_ns)) {
    field("found_ns", excess.found_ns);
    field("allowed_ns", excess.allowed_ns);
  }
  if (field.has("found_share", excess.found_share)) {
    field("found_share", excess.found_share);
    field("allowed_share", excess.allowed_share);
  }
  field("by", excess.by, kPartOfDetourFields);
};

inline constexpr auto kUnseenFields = [](auto& unseen, const auto& field) {
  field("cpu", unseen.cpu);
  field("reason", unseen.reason);
};

inline constexpr auto kCheckFields = [](auto& check, const auto& field) {
  field.schema("noised.check/1");
  field("verdict", check.verdict);
  field("elapsed_ns", check.elapsed_ns);
  field("cpus", check.cpus);
  field("max_detour_ns", check.max_detour_ns);
  field("max_share", check.max_share);
  field("noisy", check.noisy, kExcessFields);
  field("blind", check.blind, kUnseenFields);
};

inline constexpr auto kEntryFields = [](auto& entry, const auto& field) {
  field("kind", entry.kind);
  field("name", entry.name);
  field("self_ns", entry.self_ns);
  field("depth", entry.depth);
  if (field.has("detail", entry.detail)) field("detail", entry.detail);
};

/// A loop's detour has no task.
inline constexpr auto kDetourFields = [](auto& detour, const auto& field) {
  field("cpu", detour.cpu);
  field("start_ns", detour.start_ns);
  field("duration_ns", detour.duration_ns);
  field("incomplete", detour.incomplete);
  field("entries", detour.entries, kEntryFields);
  field("overhead_ns", detour.overhead_ns);
  if (field.has("pid", detour.pid)) {
    field("pid", detour.pid);
    field("task", detour.task);
    field("loss", detour.loss);
  }
};

/// A bucket is [low_ns, high_ns, count] here.
inline Json bucket_arrays(const std::vector<HistogramBucketView>& buckets) {
  Json json = Json::array();
  for (const HistogramBucketView& bucket : buckets)
    json.push_back(Json::array({bucket.low_ns, bucket.high_ns, bucket.count}));
  return json;
}

/// Reads what bucket_arrays wrote.
inline void read_bucket_arrays(const Fields& fields, std::vector<HistogramBucketView>& out) {
  const Json* buckets = fields.array("buckets");
  if (buckets == nullptr) return;
  for (const Json& bucket : *buckets) {
    const bool fits = bucket.is_array() && bucket.size() == 3 &&
                      std::all_of(bucket.begin(), bucket.end(), [](const Json& n) { return n.is_number_unsigned(); });
    if (!fits) return fields.fail("buckets", "not [low_ns, high_ns, count]");
    out.push_back({bucket[0].get<std::uint64_t>(), bucket[1].get<std::uint64_t>(), bucket[2].get<std::uint64_t>()});
  }
}

inline constexpr auto kSeriesFields = [](auto& series, const auto& field) {
  field("cpu", series.cpu);
  field("category", series.category);
  field("kind", series.kind);
  field("name", series.name);
  field("count", series.count);
  field.custom("buckets", series.buckets, bucket_arrays, read_bucket_arrays);
};

inline constexpr auto kHistogramFields = [](auto& histogram, const auto& field) {
  field.schema("noised.histogram/1");
  field("relative_error", histogram.relative_error);
  field("series", histogram.series, kSeriesFields);
};

inline constexpr auto kProgramFields = [](auto& program, const auto& field) {
  field("name", program.name);
  field("kind", program.kind);
  field.nullable("attached", program.attached);
  field("missed", program.missed);
  field("runs", program.runs);
  field("run_ns", program.run_ns);
};

inline constexpr auto kAsideFields = [](auto& aside, const auto& field) {
  field("cpus", aside.cpus);
  field("count", aside.count);
  field("p50_ns", aside.p50_ns);
  field("p99_ns", aside.p99_ns);
  field("max_ns", aside.max_ns);
};

inline constexpr auto kOverheadBoundFields = [](auto& bound, const auto& field) {
  field("place", bound.place);
  field("kind", bound.kind);
  field("cpus", bound.cpus);
  field("least_ns", bound.least_ns);
  field("most_ns", bound.most_ns);
  field("samples", bound.samples);
};

inline constexpr auto kRealtimeFields = [](auto& realtime, const auto& field) {
  field("priority", realtime.priority);
  field("budget_percent", realtime.budget_percent);
};

inline constexpr auto kEntryCostFields = [](auto& cost, const auto& field) {
  field("state", cost.state);
  field("before_ns", cost.before_ns);
  field("after_ns", cost.after_ns);
};

inline constexpr auto kStatusFields = [](auto& status, const auto& field) {
  field.schema("noised.status/1");
  field("version", status.version);
  field("host", status.host);
  field("kernel", status.kernel);
  field("pid", status.pid);
  field("uptime_ns", status.uptime_ns);
  field("probe_cpus", status.probe_cpus);
  field("housekeeping_cpus", status.housekeeping_cpus);
  field.later("mode", status.mode);  // before there were others: probe
  field.later("watched_cpus", status.watched_cpus);
  field("policy", status.policy);
  field("duty_percent", status.duty_percent);
  field("threshold_ns", status.threshold_ns);
  field("buffer_bytes", status.buffer_bytes);
  field("drain_interval_ns", status.drain_interval_ns);
  field("clock", status.clock, kClockFields);
  field("lost", status.lost, kLostFields);
  field("orphan_intervals", status.orphan_intervals);
  field("programs", status.programs, kProgramFields);
  field("unsupported", status.unsupported);
  if (field.has("nice", status.nice)) field("nice", *status.nice);
  if (field.has("detail", status.detail)) field("detail", *status.detail);
  if (field.has("realtime", status.realtime)) field("realtime", *status.realtime, kRealtimeFields);
  if (field.has("entry_cost", status.entry_cost)) field("entry_cost", *status.entry_cost, kEntryCostFields);
  if (field.has("aside", status.aside)) field("aside", *status.aside, kAsideFields);
  if (field.has("overhead_bounds", status.overhead_bounds))
    field("overhead_bounds", status.overhead_bounds, kOverheadBoundFields);
};

inline constexpr auto kCountsFields = [](auto& counts, const auto& field) {
  field("runs", counts.runs);
  field("voluntary", counts.voluntary);
  field("involuntary", counts.involuntary);
  field("migrations", counts.migrations);
  field("minor_faults", counts.minor_faults);
  field("major_faults", counts.major_faults);
  field("run_ns", counts.run_ns);
  field("preempted_ns", counts.preempted_ns);
  field("queued_ns", counts.queued_ns);
  field("max_wait_ns", counts.max_wait_ns);
  field("unseen_runs", counts.unseen_runs);
  field("unseen_wait_ns", counts.unseen_wait_ns);
  field.later("yields", counts.yields);
  field.later("yielded_ns", counts.yielded_ns);
};

inline constexpr auto kBucketFields = [](auto& bucket, const auto& field) {
  field("low_ns", bucket.low_ns);
  field("high_ns", bucket.high_ns);
  field("count", bucket.count);
};

inline constexpr auto kTaskFields = [](auto& task, const auto& field) {
  field("pid", task.pid);
  field("tgid", task.tgid);
  field("name", task.name);
  field("ended", task.ended);
  kCountsFields(task.counts, field);
  field("stolen_ns", task.stolen_ns);
  field("interruptions", task.interruptions);
  field("categories", task.categories);
  if (field.has("rank", task.rank)) field("rank", *task.rank);
  if (field.has("job", task.job)) field("job", task.job);
};

inline constexpr auto kRankFields = [](auto& rank, const auto& field) {
  field("rank", rank.rank);
  if (field.has("job", rank.job)) field("job", rank.job);
  field("processes", rank.processes);
  field("tasks", rank.tasks);
  field("runnable_ns", rank.runnable_ns);
  field("stolen_ns", rank.stolen_ns);
  field("interruptions", rank.interruptions);
  field("categories", rank.categories);
};

inline constexpr auto kMarkLossesFields = [](auto& marks, const auto& field) {
  field("lost", marks.marks);
  field("unpaired", marks.unpaired);
  field("unsettled", marks.unsettled);
  field("early", marks.early);
  field("unwatched", marks.unwatched);
  field("files", marks.files);
  field("losses", marks.losses);
};

inline constexpr auto kPhaseGroupFields = [](auto& group, const auto& field) {
  field("count", group.count);
  field("total_ns", group.total_ns);
  field("stolen_ns", group.stolen_ns);
};

inline constexpr auto kMarkedSourceFields = [](auto& source, const auto& field) {
  field("category", source.category);
  field("kind", source.kind);
  field("name", source.name);
  field("total_ns", source.total_ns);
  field("phases", source.phases);
  field("late_ns", source.late_ns);
  field("typical_ns", source.typical_ns);
};

inline constexpr auto kLongSourceFields = [](auto& source, const auto& field) {
  field("source", source.first);
  field("ns", source.second);
};

inline constexpr auto kLongPhaseFields = [](auto& phase, const auto& field) {
  field("pid", phase.pid);
  field("start_ns", phase.start_ns);
  field("duration_ns", phase.duration_ns);
  field("stolen_ns", phase.stolen_ns);
  field("incomplete", phase.incomplete);
  field("sources", phase.sources, kLongSourceFields);
};

inline constexpr auto kPhaseCostFields = [](auto& cost, const auto& field) {
  field("ranks", cost.ranks);
  field("delayed", cost.delayed);
  field("slowdown", cost.slowdown);
  field("low", cost.low);
  field("high", cost.high);
};

inline constexpr auto kMarkedDelayFields = [](auto& delay, const auto& field) {
  field("of_own", delay.of_own);
  field("phases", delay.phases);
  field("p", delay.p);
  field("low", delay.low);
  field("high", delay.high);
};

/// The fields of the group of all phases have no name before them.
inline constexpr auto kMarkedPhaseFields = [](auto& phase, const auto& field) {
  field("name", phase.name);
  field("threads", phase.threads);
  kPhaseGroupFields(phase.all, field);
  field("incomplete", phase.incomplete);
  field("min_ns", phase.min_ns);
  field("mean_ns", phase.mean_ns);
  field("median_ns", phase.median_ns);
  field("max_ns", phase.max_ns);
  field("delayed", phase.delayed);
  field("delays", phase.delays, kMarkedDelayFields);
  field("late", phase.late, kPhaseGroupFields);
  field("typical", phase.typical, kPhaseGroupFields);
  field("sources", phase.sources, kMarkedSourceFields);
  field("longest", phase.longest, kLongPhaseFields);
  field("costs", phase.costs, kPhaseCostFields);
};

inline constexpr auto kUntoldFields = [](auto& untold, const auto& field) {
  field("interrupted", untold.interrupted);
  field("estimated", untold.estimated);
  field("rest_ns", untold.rest_ns);
  field("rest_most_ns", untold.rest_most_ns);
  field("measured", untold.measured);
};

inline constexpr auto kWatchFields = [](auto& report, const auto& field) {
  field.schema("noised.watch/1");
  field("selection", report.selection);
  field("final", report.final);
  field("elapsed_ns", report.elapsed_ns);
  field("cpus", report.cpus);
  field("tasks_seen", report.tasks_seen);
  kCountsFields(report.counts, field);
  field("runnable_ns", report.runnable_ns);
  field("interruptions", report.interruptions);
  field("incomplete", report.incomplete);
  field("stolen_ns", report.stolen_ns);
  field("max_interruption_ns", report.max_interruption_ns);
  kPartFields(report, field);
  if (field.has("steal_ns", report.steal)) {
    field("steal_ns", report.steal->ns);
    field("steal_step_ns", report.steal->step_ns);
  }
  if (field.has("untold", report.untold)) field("untold", *report.untold, kUntoldFields);
  field("sources", report.sources, kSourceFields);
  field("combinations", report.combinations, kCombinationFields);
  field("run_histogram", report.runs, kBucketFields);
  field("wait_histogram", report.waits, kBucketFields);
  field("tasks", report.tasks, kTaskFields);
  field("lost", report.lost, kLostFields);
  field("unsupported", report.unsupported);
  if (field.has("ranks", report.ranks)) {
    field("ranks", report.ranks, kRankFields);
    field("rank_unknown", report.rank_unknown);
  }
  if (field.has("marks", report.marks)) {
    field("marks", *report.marks, kMarkLossesFields);
    field("phases", report.phases, kMarkedPhaseFields);
  }
};

}  // namespace noised
