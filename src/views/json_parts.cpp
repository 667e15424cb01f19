// SPDX-License-Identifier: Apache-2.0
// Clock, lost counters and unsupported sources, in both forms.
#include "views/json_parts.h"

#include <fmt/format.h>

#include "views/format.h"
#include "views/views.h"

namespace noised::views {

Json clock_json(const ReportClock& clock) {
  Json json{{"source", clock.source}, {"uncertainty_ns", clock.uncertainty_ns}, {"containment", nullptr}};
  if (clock.containment) json["containment"] = *clock.containment;
  return json;
}

Json lost_json(const ReportLost& lost) {
  return Json{{"events", lost.events},
              {"detours", lost.detours},
              {"unpaired", lost.unpaired},
              {"missed_runs", lost.missed_runs},
              {"incomplete_detours", lost.incomplete_detours}};
}

void read_clock(const Fields& fields, ReportClock& clock) {
  fields.read("source", clock.source);
  fields.read("uncertainty_ns", clock.uncertainty_ns);
  fields.read("containment", clock.containment);
}

void read_lost(const Fields& fields, ReportLost& lost) {
  fields.read("events", lost.events);
  fields.read("detours", lost.detours);
  fields.read("unpaired", lost.unpaired);
  fields.read("missed_runs", lost.missed_runs);
  fields.read("incomplete_detours", lost.incomplete_detours);
}

bool anything_lost(const ReportLost& lost) {
  return (lost.events | lost.detours | lost.unpaired | lost.missed_runs | lost.incomplete_detours) != 0;
}

std::string lost_text(const ReportLost& lost) {
  if (!anything_lost(lost)) return "nothing lost";
  return fmt::format("{} events, {} detours, {} unpaired, {} missed runs, {} incomplete detours", lost.events,
                     lost.detours, lost.unpaired, lost.missed_runs, lost.incomplete_detours);
}

std::string clock_text(const ReportClock& clock) {
  const std::string containment =
      clock.containment ? fmt::format("{:.4f}%", 100 * *clock.containment) : std::string("not known yet");
  return fmt::format("clock {}, uncertainty {}, containment {}", printable(clock.source),
                     format_duration(clock.uncertainty_ns), containment);
}

std::string unsupported_text(const std::vector<std::string>& unsupported) {
  if (unsupported.empty()) return "unsupported: nothing\n";
  std::string text = "unsupported:\n";
  for (const std::string& line : unsupported) text += "  " + printable(line) + "\n";
  return text;
}

}  // namespace noised::views
