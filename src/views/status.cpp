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

void read_aside(const Fields& fields, AsideView& aside) {
  fields.read("cpus", aside.cpus);
  fields.read("count", aside.count);
  fields.read("p50_ns", aside.p50_ns);
  fields.read("p99_ns", aside.p99_ns);
  fields.read("max_ns", aside.max_ns);
}

Json aside_json(const AsideView& aside) {
  return Json{{"cpus", aside.cpus},
              {"count", aside.count},
              {"p50_ns", aside.p50_ns},
              {"p99_ns", aside.p99_ns},
              {"max_ns", aside.max_ns}};
}

// Without one there is no threshold, no second clock, and no interval outside of detours.
bool has_loop(const StatusView& status) { return status.mode != "watch"; }

std::string measured_text(const StatusView& status) {
  if (!has_loop(status)) return fmt::format("watched       tasks of cpus {}\n", printable(status.probe_cpus));
  return fmt::format("measured      cpus {}{}, threshold {}, policy {}{}\n", printable(status.probe_cpus),
                     status.mode == "probe" ? "" : ", mode " + printable(status.mode),
                     format_duration(status.threshold_ns), printable(status.policy),
                     status.duty_percent < 100 ? fmt::format(", {}% of the time", status.duty_percent) : "");
}

std::string aside_text(const AsideView& aside) {
  return fmt::format("aside         {}; {} times, within {} (p50), {} (p99), {} at most\n",
                     aside.cpus.empty() ? "no loop" : "cpus " + printable(aside.cpus), aside.count,
                     format_duration(aside.p50_ns), format_duration(aside.p99_ns), format_duration(aside.max_ns));
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
  if (fields.optional("mode") != nullptr) fields.read("mode", status.mode);  // before there were others: probe
  if (fields.optional("aside") != nullptr)
    fields.object("aside", [&](const Fields& inner) { read_aside(inner, status.aside.emplace()); });
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
  Json json{{"schema", kSchema},
            {"version", status.version},
            {"host", status.host},
            {"kernel", status.kernel},
            {"pid", status.pid},
            {"uptime_ns", status.uptime_ns},
            {"probe_cpus", status.probe_cpus},
            {"housekeeping_cpus", status.housekeeping_cpus},
            {"mode", status.mode},
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
  if (status.aside) json["aside"] = aside_json(*status.aside);
  return json;
}

std::string to_json(const StatusView& status) { return dump(status_json(status)); }

Result<StatusView> parse_status(std::string_view json) { return parse_as<StatusView>(json, "status", read_status); }

std::string to_text(const StatusView& status) {
  std::string text = fmt::format(
      "noised {}, process {}, up {}\n"
      "host          {}, kernel {}\n"
      "{}{}"
      "housekeeping  cpus {}, drained every {}, {} KiB a CPU\n",
      printable(status.version), status.pid, format_duration(status.uptime_ns), printable(status.host),
      printable(status.kernel), measured_text(status), status.aside ? aside_text(*status.aside) : "",
      printable(status.housekeeping_cpus), format_duration(status.drain_interval_ns), status.buffer_bytes / 1024);
  if (has_loop(status)) text += "time          " + clock_text(status.clock) + "\n";
  if (const std::string blind = blind_text(status.lost); !blind.empty()) text += "blind         " + blind + "\n";
  text += "lost          " + lost_text(status.lost) + "\n";
  if (has_loop(status))
    text += fmt::format("orphans       {} intervals outside every detour\n", status.orphan_intervals);
  return text + "\n" + programs_text(status.programs) + "\n" + unsupported_text(status.unsupported);
}

}  // namespace noised::views
