// SPDX-License-Identifier: Apache-2.0
// The watch as JSON, and back.
#include "views/json_fields.h"
#include "views/json_parts.h"
#include "views/marked_phases.h"
#include "views/watch.h"
#include "views/watch_ranks.h"

namespace noised::views {
namespace {

constexpr const char* kSchema = "noised.watch/1";

constexpr auto kCounts = [](auto& counts, const auto& field) {
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
};

constexpr auto kLedger = [](auto& report, const auto& field) {
  field("runnable_ns", report.runnable_ns);
  field("interruptions", report.interruptions);
  field("incomplete", report.incomplete);
  field("stolen_ns", report.stolen_ns);
  field("max_interruption_ns", report.max_interruption_ns);
  field("explained_ns", report.explained_ns);
  field("overhead_ns", report.overhead_ns);
  field("hypervisor_ns", report.hypervisor_ns);
  field("hardware_ns", report.hardware_ns);
  field("unexplained_ns", report.unexplained_ns);
};

constexpr auto kSteal = [](auto& steal, const auto& field) {
  field("steal_ns", steal.ns);
  field("steal_step_ns", steal.step_ns);
};

constexpr auto kBucket = [](auto& bucket, const auto& field) {
  field("low_ns", bucket.low_ns);
  field("high_ns", bucket.high_ns);
  field("count", bucket.count);
};

Json histogram_json(const std::vector<HistogramBucketView>& buckets) {
  Json json = Json::array();
  for (const HistogramBucketView& bucket : buckets) json.push_back(members_json(kBucket, bucket));
  return json;
}

Json task_json(const WatchTask& task) {
  Json json{{"pid", task.pid}, {"tgid", task.tgid}, {"name", task.name}, {"ended", task.ended}};
  add_members(kCounts, task.counts, json);
  json["stolen_ns"] = task.stolen_ns;
  json["interruptions"] = task.interruptions;
  json["categories"] = categories_json(task.categories);
  if (task.rank) json["rank"] = *task.rank;
  if (!task.job.empty()) json["job"] = task.job;
  return json;
}

void read_task(const Fields& fields, WatchTask& task) {
  fields.read("pid", task.pid);
  fields.read("tgid", task.tgid);
  fields.read("name", task.name);
  fields.read("ended", task.ended);
  read_members(fields, kCounts, task.counts);
  fields.read("stolen_ns", task.stolen_ns);
  fields.read("interruptions", task.interruptions);
  read_categories(fields, task.categories);
  if (fields.optional("rank") != nullptr) fields.read("rank", task.rank.emplace());
  if (fields.optional("job") != nullptr) fields.read("job", task.job);
}

void read_watch(const Fields& fields, WatchReport& report) {
  expect_schema(fields, kSchema);
  fields.read("selection", report.selection);
  fields.read("final", report.final);
  fields.read("elapsed_ns", report.elapsed_ns);
  fields.read("cpus", report.cpus);
  fields.read("tasks_seen", report.tasks_seen);
  read_members(fields, kCounts, report.counts);
  read_members(fields, kLedger, report);
  if (fields.optional("steal_ns") != nullptr) read_members(fields, kSteal, report.steal.emplace());
  fields.each("sources", [&](const Fields& item) { read_source(item, report.sources.emplace_back()); });
  fields.each("combinations", [&](const Fields& item) { read_combination(item, report.combinations.emplace_back()); });
  fields.each("run_histogram", [&](const Fields& item) { read_members(item, kBucket, report.runs.emplace_back()); });
  fields.each("wait_histogram", [&](const Fields& item) { read_members(item, kBucket, report.waits.emplace_back()); });
  fields.each("tasks", [&](const Fields& item) { read_task(item, report.tasks.emplace_back()); });
  read_ranks(fields, report);
  fields.object("lost", [&](const Fields& inner) { read_lost(inner, report.lost); });
  fields.read("unsupported", report.unsupported);
  if (fields.optional("marks") != nullptr) read_marked(fields, report);
}

}  // namespace

std::string to_json(const WatchReport& report) {
  Json json{{"schema", kSchema},     {"selection", report.selection},
            {"final", report.final}, {"elapsed_ns", report.elapsed_ns},
            {"cpus", report.cpus},   {"tasks_seen", report.tasks_seen}};
  add_members(kCounts, report.counts, json);
  add_members(kLedger, report, json);
  if (report.steal) add_members(kSteal, *report.steal, json);
  json.update(Json{{"sources", Json::array()},
                   {"combinations", Json::array()},
                   {"run_histogram", histogram_json(report.runs)},
                   {"wait_histogram", histogram_json(report.waits)},
                   {"tasks", Json::array()},
                   {"lost", lost_json(report.lost)},
                   {"unsupported", report.unsupported}});
  for (const ReportSource& source : report.sources) json["sources"].push_back(source_json(source));
  for (const ReportCombination& each : report.combinations) json["combinations"].push_back(combination_json(each));
  for (const WatchTask& task : report.tasks) json["tasks"].push_back(task_json(task));
  add_ranks(report, json);
  if (report.marks) add_marked(report, json);
  return dump(json);
}

Result<WatchReport> parse_watch(std::string_view json) { return parse_as<WatchReport>(json, "watch", read_watch); }

}  // namespace noised::views
