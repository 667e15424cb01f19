// SPDX-License-Identifier: Apache-2.0
// The daemon's own state: where it runs, what it attached, what it lost.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "model/json_parts.h"
#include "views/lost.h"
#include "views/text.h"
#include "views/views.h"

namespace noised::views {
namespace {

using Align = Table::Align;

// Of those that are attached nothing more is to be said, unless the kernel counted something.
std::string attached_text(const std::vector<ProgramView>& programs) {
  const auto attached = std::ranges::count_if(programs, [](const ProgramView& each) { return !each.attached.empty(); });
  std::string missing;
  for (const ProgramView& program : programs) {
    if (program.attached.empty()) missing += (missing.empty() ? "" : ", ") + printable(program.name);
  }
  return fmt::format("programs      {} of {} attached{}\n", attached, programs.size(),
                     missing.empty() ? "" : "; missing: " + missing);
}

std::string programs_text(const std::vector<ProgramView>& programs) {
  if (std::ranges::none_of(programs, [](const ProgramView& each) { return each.missed != 0 || each.runs != 0; }))
    return "";
  Table table({{"program", Align::left},
               {"kind", Align::left},
               {"attached", Align::left},
               {"missed", Align::right},
               {"runs", Align::right},
               {"mean", Align::right}});
  for (const ProgramView& program : programs) {
    if (program.missed == 0 && program.runs == 0) continue;
    table.add({printable(program.name), printable(program.kind),
               program.attached.empty() ? "no" : printable(program.attached), std::to_string(program.missed),
               program.runs == 0 ? "-" : std::to_string(program.runs),
               program.runs == 0 ? "-" : format_duration(program.run_ns / program.runs)});
  }
  return table.text() + "\n";
}

std::string bounds_text(const std::vector<OverheadBoundView>& bounds) {
  if (bounds.empty()) return "";
  Table table({{"overhead of a gap", Align::left},
               {"at most", Align::right},
               {"CPUs", Align::right},
               {"gaps seen", Align::right}});
  for (const OverheadBoundView& bound : bounds) {
    const std::string most = format_duration(bound.most_ns);
    table.add({printable(bound.place) + " " + printable(bound.kind),
               bound.least_ns == bound.most_ns ? most : format_duration(bound.least_ns) + " to " + most,
               std::to_string(bound.cpus), std::to_string(bound.samples)});
  }
  return table.text() +
         "learned from this run, within the last minute; what a gap has beyond it is not the kernel's. On a virtual "
         "machine,\nwhat it costs to exit to the host and come back is among it.\n\n";
}

// Without one there is no threshold, no second clock, and no interval outside of detours.
bool has_loop(const StatusView& status) { return status.mode != "watch"; }

std::string measured_text(const StatusView& status) {
  if (!has_loop(status)) return fmt::format("watched       tasks of cpus {}\n", printable(status.probe_cpus));
  const std::string others = status.watched_cpus.empty()
                                 ? ""
                                 : fmt::format("watched       tasks of cpus {}\n", printable(status.watched_cpus));
  return fmt::format("measured      cpus {}{}, threshold {}, policy {}{}\n{}", printable(status.probe_cpus),
                     status.mode == "probe" ? "" : ", mode " + printable(status.mode),
                     format_duration(status.threshold_ns), printable(status.policy),
                     status.duty_percent < 100 ? fmt::format(", {}% of the time", status.duty_percent) : "", others);
}

std::string aside_text(const AsideView& aside) {
  return fmt::format("aside         {}; {} times, within {} (p50), {} (p99), {} at most\n",
                     aside.cpus.empty() ? "no loop" : "cpus " + printable(aside.cpus), aside.count,
                     format_duration(aside.p50_ns), format_duration(aside.p99_ns), format_duration(aside.max_ns));
}

// How the thread that drains comes by its CPU.
std::string urgency_text(const StatusView& status) {
  std::string nice = status.nice ? fmt::format(" at nice {}", *status.nice) : "";
  if (!status.realtime) return nice;
  return fmt::format(" at real-time priority {} for up to {}% of a second, then{}", status.realtime->priority,
                     status.realtime->budget_percent, nice);
}

std::string entry_cost_text(const EntryCostView& cost) {
  const std::string known = cost.state != "known"
                                ? printable(cost.state)
                                : fmt::format(
                                      "of a timer's interrupt, at least {} before and {} after "
                                      "what is told of it",
                                      format_duration(cost.before_ns), format_duration(cost.after_ns));
  return "entry cost    " + known + "\n";
}

}  // namespace

std::string to_json(const StatusView& status) { return dump(fields_json(status, kStatusFields)); }

Result<StatusView> parse_status(std::string_view json) { return parse_as<StatusView>(json, "status", kStatusFields); }

std::string to_text(const StatusView& status) {
  std::string text = fmt::format(
      "noised {}, process {}, up {}\n"
      "host          {}, kernel {}\n"
      "{}{}"
      "housekeeping  cpus {}, drained every {}{}, {} KiB a CPU{}\n",
      printable(status.version), status.pid, format_duration(status.uptime_ns), printable(status.host),
      printable(status.kernel), measured_text(status), status.aside ? aside_text(*status.aside) : "",
      printable(status.housekeeping_cpus), format_duration(status.drain_interval_ns), urgency_text(status),
      status.buffer_bytes / 1024, status.detail ? ", detail " + printable(*status.detail) : "");
  if (has_loop(status)) text += "time          " + clock_text(status.clock) + "\n";
  if (const std::string blind = blind_text(status.lost); !blind.empty()) text += "blind         " + blind + "\n";
  text += "lost          " + lost_text(status.lost) + "\n";
  if (has_loop(status))
    text += fmt::format("orphans       {} intervals outside every detour\n", status.orphan_intervals);
  if (status.entry_cost) text += entry_cost_text(*status.entry_cost);
  text += attached_text(status.programs);
  return text + "\n" + programs_text(status.programs) + bounds_text(status.overhead_bounds) +
         unsupported_text(status.unsupported);
}

}  // namespace noised::views
