// SPDX-License-Identifier: Apache-2.0
// The daemon's own state: where it runs, what it attached, what it lost.
#include <fmt/format.h>

#include "views/format.h"
#include "views/json_parts.h"
#include "views/table.h"
#include "views/views.h"

namespace noised::views {
namespace {

using Align = Table::Align;

constexpr const char* kSchema = "noised.status/1";

Json program_json(const ProgramView& program) {
  Json json{{"name", program.name},     {"kind", program.kind}, {"attached", nullptr},
            {"missed", program.missed}, {"runs", program.runs}, {"run_ns", program.run_ns}};
  if (!program.attached.empty()) json["attached"] = program.attached;
  return json;
}

void read_program(const Fields& fields, ProgramView& program) {
  fields.read("name", program.name);
  fields.read("kind", program.kind);
  fields.read_nullable("attached", program.attached);
  fields.read("missed", program.missed);
  fields.read("runs", program.runs);
  fields.read("run_ns", program.run_ns);
}

std::string programs_text(const std::vector<ProgramView>& programs) {
  Table table({{"program", Align::left},
               {"kind", Align::left},
               {"attached", Align::left},
               {"missed", Align::right},
               {"runs", Align::right},
               {"mean", Align::right}});
  for (const ProgramView& program : programs)
    table.add({printable(program.name), printable(program.kind),
               program.attached.empty() ? "no" : printable(program.attached), std::to_string(program.missed),
               program.runs == 0 ? "-" : std::to_string(program.runs),
               program.runs == 0 ? "-" : format_duration(program.run_ns / program.runs)});
  return table.text();
}

}  // namespace

void read_status(const Fields& fields, StatusView& status) {
  expect_schema(fields, kSchema);
  fields.read("version", status.version);
  fields.read("host", status.host);
  fields.read("kernel", status.kernel);
  fields.read("pid", status.pid);
  fields.read("uptime_ns", status.uptime_ns);
  fields.read("probe_cpus", status.probe_cpus);
  fields.read("housekeeping_cpus", status.housekeeping_cpus);
  fields.read("policy", status.policy);
  fields.read("duty_percent", status.duty_percent);
  fields.read("threshold_ns", status.threshold_ns);
  fields.read("buffer_bytes", status.buffer_bytes);
  fields.read("drain_interval_ns", status.drain_interval_ns);
  fields.object("clock", [&](const Fields& inner) { read_clock(inner, status.clock); });
  fields.object("lost", [&](const Fields& inner) { read_lost(inner, status.lost); });
  fields.read("orphan_intervals", status.orphan_intervals);
  fields.each("programs", [&](const Fields& item) { read_program(item, status.programs.emplace_back()); });
  fields.read("unsupported", status.unsupported);
}

Json status_json(const StatusView& status) {
  Json programs = Json::array();
  for (const ProgramView& program : status.programs) programs.push_back(program_json(program));
  return Json{{"schema", kSchema},
              {"version", status.version},
              {"host", status.host},
              {"kernel", status.kernel},
              {"pid", status.pid},
              {"uptime_ns", status.uptime_ns},
              {"probe_cpus", status.probe_cpus},
              {"housekeeping_cpus", status.housekeeping_cpus},
              {"policy", status.policy},
              {"duty_percent", status.duty_percent},
              {"threshold_ns", status.threshold_ns},
              {"buffer_bytes", status.buffer_bytes},
              {"drain_interval_ns", status.drain_interval_ns},
              {"clock", clock_json(status.clock)},
              {"lost", lost_json(status.lost)},
              {"orphan_intervals", status.orphan_intervals},
              {"programs", std::move(programs)},
              {"unsupported", status.unsupported}};
}

std::string to_json(const StatusView& status) { return dump(status_json(status)); }

Result<StatusView> parse_status(std::string_view json) { return parse_as<StatusView>(json, "status", read_status); }

std::string to_text(const StatusView& status) {
  return fmt::format(
             "noised {}, process {}, up {}\n"
             "host          {}, kernel {}\n"
             "measured      cpus {}, threshold {}, policy {}{}\n"
             "housekeeping  cpus {}, drained every {}, {} KiB a CPU\n"
             "time          {}\n"
             "lost          {}\n"
             "orphans       {} intervals outside every detour\n\n",
             printable(status.version), status.pid, format_duration(status.uptime_ns), printable(status.host),
             printable(status.kernel), printable(status.probe_cpus), format_duration(status.threshold_ns),
             printable(status.policy),
             status.duty_percent < 100 ? fmt::format(", {}% of the time", status.duty_percent) : "",
             printable(status.housekeeping_cpus), format_duration(status.drain_interval_ns), status.buffer_bytes / 1024,
             clock_text(status.clock), lost_text(status.lost), status.orphan_intervals) +
         programs_text(status.programs) + "\n" + unsupported_text(status.unsupported);
}

}  // namespace noised::views
