// SPDX-License-Identifier: Apache-2.0
// The watch as JSON, and back.
#include "views/json_fields.h"
#include "views/json_parts.h"
#include "views/watch.h"

namespace noised::views {
namespace {

constexpr const char* kSchema = "noised.watch/1";

void add_counts(const WatchCounts& counts, Json& json) {
  json.update(Json{{"runs", counts.runs},
                   {"voluntary", counts.voluntary},
                   {"involuntary", counts.involuntary},
                   {"migrations", counts.migrations},
                   {"minor_faults", counts.minor_faults},
                   {"major_faults", counts.major_faults},
                   {"run_ns", counts.run_ns},
                   {"preempted_ns", counts.preempted_ns},
                   {"queued_ns", counts.queued_ns},
                   {"max_wait_ns", counts.max_wait_ns},
                   {"unseen_runs", counts.unseen_runs},
                   {"unseen_wait_ns", counts.unseen_wait_ns}});
}

void read_counts(const Fields& fields, WatchCounts& counts) {
  fields.read("runs", counts.runs);
  fields.read("voluntary", counts.voluntary);
  fields.read("involuntary", counts.involuntary);
  fields.read("migrations", counts.migrations);
  fields.read("minor_faults", counts.minor_faults);
  fields.read("major_faults", counts.major_faults);
  fields.read("run_ns", counts.run_ns);
  fields.read("preempted_ns", counts.preempted_ns);
  fields.read("queued_ns", counts.queued_ns);
  fields.read("max_wait_ns", counts.max_wait_ns);
  fields.read("unseen_runs", counts.unseen_runs);
  fields.read("unseen_wait_ns", counts.unseen_wait_ns);
}

Json histogram_json(const std::vector<HistogramBucketView>& buckets) {
  Json json = Json::array();
  for (const HistogramBucketView& bucket : buckets)
    json.push_back(Json{{"low_ns", bucket.low_ns}, {"high_ns", bucket.high_ns}, {"count", bucket.count}});
  return json;
}

void read_bucket(const Fields& fields, HistogramBucketView& bucket) {
  fields.read("low_ns", bucket.low_ns);
  fields.read("high_ns", bucket.high_ns);
  fields.read("count", bucket.count);
}

Json task_json(const WatchTask& task) {
  Json json{{"pid", task.pid}, {"tgid", task.tgid}, {"name", task.name}, {"ended", task.ended}};
  add_counts(task.counts, json);
  json["stolen_ns"] = task.stolen_ns;
  json["interruptions"] = task.interruptions;
  json["categories"] = Json::object();
  for (const auto& [category, ns] : task.categories) json["categories"][category] = ns;
  return json;
}

void read_categories(const Fields& fields, WatchTask& task) {
  const Json* found = fields.optional("categories");
  if (found == nullptr) return fields.fail("categories", "missing");
  if (!found->is_object()) return fields.fail("categories", "not an object");
  for (const auto& [category, ns] : found->items()) {
    if (!ns.is_number_unsigned()) return fields.fail("categories." + category, "not an unsigned integer");
    task.categories.emplace_back(category, ns.get<std::uint64_t>());
  }
}

void read_task(const Fields& fields, WatchTask& task) {
  fields.read("pid", task.pid);
  fields.read("tgid", task.tgid);
  fields.read("name", task.name);
  fields.read("ended", task.ended);
  read_counts(fields, task.counts);
  fields.read("stolen_ns", task.stolen_ns);
  fields.read("interruptions", task.interruptions);
  read_categories(fields, task);
}

void read_ledger(const Fields& fields, WatchReport& report) {
  fields.read("runnable_ns", report.runnable_ns);
  fields.read("interruptions", report.interruptions);
  fields.read("incomplete", report.incomplete);
  fields.read("stolen_ns", report.stolen_ns);
  fields.read("max_interruption_ns", report.max_interruption_ns);
  fields.read("explained_ns", report.explained_ns);
  fields.read("overhead_ns", report.overhead_ns);
  fields.read("hypervisor_ns", report.hypervisor_ns);
  fields.read("hardware_ns", report.hardware_ns);
  fields.read("unexplained_ns", report.unexplained_ns);
}

void read_watch(const Fields& fields, WatchReport& report) {
  expect_schema(fields, kSchema);
  fields.read("selection", report.selection);
  fields.read("final", report.final);
  fields.read("elapsed_ns", report.elapsed_ns);
  fields.read("cpus", report.cpus);
  fields.read("tasks_seen", report.tasks_seen);
  read_counts(fields, report.counts);
  read_ledger(fields, report);
  fields.each("sources", [&](const Fields& item) { read_source(item, report.sources.emplace_back()); });
  fields.each("combinations", [&](const Fields& item) { read_combination(item, report.combinations.emplace_back()); });
  fields.each("run_histogram", [&](const Fields& item) { read_bucket(item, report.runs.emplace_back()); });
  fields.each("wait_histogram", [&](const Fields& item) { read_bucket(item, report.waits.emplace_back()); });
  fields.each("tasks", [&](const Fields& item) { read_task(item, report.tasks.emplace_back()); });
  fields.object("lost", [&](const Fields& inner) { read_lost(inner, report.lost); });
  fields.read("unsupported", report.unsupported);
}

}  // namespace

std::string to_json(const WatchReport& report) {
  Json json{{"schema", kSchema},     {"selection", report.selection},
            {"final", report.final}, {"elapsed_ns", report.elapsed_ns},
            {"cpus", report.cpus},   {"tasks_seen", report.tasks_seen}};
  add_counts(report.counts, json);
  json.update(Json{{"runnable_ns", report.runnable_ns},
                   {"interruptions", report.interruptions},
                   {"incomplete", report.incomplete},
                   {"stolen_ns", report.stolen_ns},
                   {"max_interruption_ns", report.max_interruption_ns},
                   {"explained_ns", report.explained_ns},
                   {"overhead_ns", report.overhead_ns},
                   {"hypervisor_ns", report.hypervisor_ns},
                   {"hardware_ns", report.hardware_ns},
                   {"unexplained_ns", report.unexplained_ns},
                   {"sources", Json::array()},
                   {"combinations", Json::array()},
                   {"run_histogram", histogram_json(report.runs)},
                   {"wait_histogram", histogram_json(report.waits)},
                   {"tasks", Json::array()},
                   {"lost", lost_json(report.lost)},
                   {"unsupported", report.unsupported}});
  for (const ReportSource& source : report.sources) json["sources"].push_back(source_json(source));
  for (const ReportCombination& each : report.combinations) json["combinations"].push_back(combination_json(each));
  for (const WatchTask& task : report.tasks) json["tasks"].push_back(task_json(task));
  return dump(json);
}

Result<WatchReport> parse_watch(std::string_view json) { return parse_as<WatchReport>(json, "watch", read_watch); }

}  // namespace noised::views
