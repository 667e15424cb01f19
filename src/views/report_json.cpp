// SPDX-License-Identifier: Apache-2.0
// The report as the contract's JSON object, and back.
#include "views/json_fields.h"
#include "views/json_parts.h"
#include "views/views.h"

namespace noised::views {
namespace {

constexpr const char* kSchema = "noised.report/1";

Json cpu_json(const ReportCpu& cpu) {
  Json json{{"cpu", cpu.cpu},
            {"mode", cpu.mode},
            {"observed_ns", cpu.observed_ns},
            {"iterations", cpu.iterations},
            {"threshold_ns", cpu.threshold_ns},
            {"detours", cpu.detours},
            {"detour_ns", cpu.detour_ns},
            {"max_detour_ns", cpu.max_detour_ns},
            {"explained_ns", cpu.explained_ns},
            {"overhead_ns", cpu.overhead_ns},
            {"hypervisor_ns", cpu.hypervisor_ns},
            {"hardware_ns", cpu.hardware_ns},
            {"unexplained_ns", cpu.unexplained_ns},
            {"blind_ns", cpu.blind_ns},
            {"steal_ns", cpu.steal_ns},
            {"steal_step_ns", cpu.steal_step_ns},
            {"smi_count", nullptr},
            {"containment", nullptr}};
  if (cpu.smi_count) json["smi_count"] = *cpu.smi_count;
  if (cpu.containment) json["containment"] = *cpu.containment;
  return json;
}

void read_cpu(const Fields& fields, ReportCpu& cpu) {
  fields.read("cpu", cpu.cpu);
  fields.read("mode", cpu.mode);
  fields.read("observed_ns", cpu.observed_ns);
  fields.read("iterations", cpu.iterations);
  fields.read("threshold_ns", cpu.threshold_ns);
  fields.read("detours", cpu.detours);
  fields.read("detour_ns", cpu.detour_ns);
  fields.read("max_detour_ns", cpu.max_detour_ns);
  fields.read("explained_ns", cpu.explained_ns);
  fields.read("overhead_ns", cpu.overhead_ns);
  fields.read("hypervisor_ns", cpu.hypervisor_ns);
  fields.read("hardware_ns", cpu.hardware_ns);
  fields.read("unexplained_ns", cpu.unexplained_ns);
  fields.read("blind_ns", cpu.blind_ns);
  fields.read("steal_ns", cpu.steal_ns);
  fields.read("steal_step_ns", cpu.steal_step_ns);
  fields.read("smi_count", cpu.smi_count);
  if (fields.optional("containment") != nullptr) fields.read("containment", cpu.containment);
}

void read_report(const Fields& fields, Report& report) {
  expect_schema(fields, kSchema);
  fields.read("host", report.host);
  fields.read("kernel", report.kernel);
  fields.read("start", report.start);
  fields.read("elapsed_ns", report.elapsed_ns);
  fields.object("clock", [&](const Fields& inner) { read_clock(inner, report.clock); });
  fields.object("lost", [&](const Fields& inner) { read_lost(inner, report.lost); });
  fields.read("unsupported", report.unsupported);
  fields.each("cpus", [&](const Fields& item) { read_cpu(item, report.cpus.emplace_back()); });
  fields.each("sources", [&](const Fields& item) {
    ReportSource& source = report.sources.emplace_back();
    item.read("cpu", source.cpu);
    read_source(item, source);
  });
  fields.each("combinations", [&](const Fields& item) { read_combination(item, report.combinations.emplace_back()); });
}

}  // namespace

std::string to_json(const Report& report) {
  Json cpus = Json::array();
  for (const ReportCpu& cpu : report.cpus) cpus.push_back(cpu_json(cpu));
  Json sources = Json::array();
  for (const ReportSource& source : report.sources) {
    sources.push_back(Json{{"cpu", source.cpu}});
    sources.back().update(source_json(source));
  }
  Json combinations = Json::array();
  for (const ReportCombination& combination : report.combinations)
    combinations.push_back(combination_json(combination));
  return dump(Json{{"schema", kSchema},
                   {"host", report.host},
                   {"kernel", report.kernel},
                   {"start", report.start},
                   {"elapsed_ns", report.elapsed_ns},
                   {"clock", clock_json(report.clock)},
                   {"lost", lost_json(report.lost)},
                   {"unsupported", report.unsupported},
                   {"cpus", std::move(cpus)},
                   {"sources", std::move(sources)},
                   {"combinations", std::move(combinations)}});
}

Result<Report> parse_report(std::string_view json) { return parse_as<Report>(json, "report", read_report); }

}  // namespace noised::views
