// SPDX-License-Identifier: Apache-2.0
#include "views/lost.h"
#include "base/text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/cpus.h"
#include "views/text.h"
#include "views/views.h"

namespace noised::views {

bool anything_lost(const ReportLost& lost) {
  return !lost.by.empty() ||
         (lost.events | lost.detours | lost.unpaired | lost.missed_runs | lost.incomplete_detours) != 0;
}

std::string lost_totals_text(const ReportLost& lost) {
  if (!anything_lost(lost)) return "nothing lost";
  return fmt::format("{} events, {} detours, {} unpaired, {} missed runs, {} incomplete detours", lost.events,
                     lost.detours, lost.unpaired, lost.missed_runs, lost.incomplete_detours);
}

std::string loss_text(const ReportLoss& loss) {
  return fmt::format("{} {}{}", loss.count, printable(loss.reason),
                     loss.cpu ? fmt::format(" on CPU {}", *loss.cpu) : "");
}

std::string lost_text(const ReportLost& lost) {
  std::string text = lost_totals_text(lost);
  for (std::size_t i = 0; i < lost.by.size(); ++i) text += (i == 0 ? " (" : ", ") + loss_text(lost.by[i]);
  return text + (lost.by.empty() ? "" : ")");
}

std::string clock_text(const ReportClock& clock) {
  const std::string containment =
      clock.containment ? format_containment(*clock.containment) : std::string("not known yet");
  const std::string where = clock.containment_cpu ? fmt::format(" (CPU {})", *clock.containment_cpu) : "";
  return fmt::format("clock {}, uncertainty {}, containment {}{}", printable(clock.source),
                     format_duration(clock.uncertainty_ns), containment, where);
}

std::string blind_text(const ReportLost& lost) {
  std::vector<unsigned> cpus;
  std::uint64_t unseen = 0;
  for (const ReportLoss& loss : lost.by) {
    if (loss.reason != kBlind || !loss.cpu) continue;
    cpus.push_back(*loss.cpu);
    unseen += loss.count;
  }
  if (cpus.empty()) return "";
  std::ranges::sort(cpus);
  return fmt::format(
      "CPU{} {} {} blind: the kernel counted {} interrupts there that noised did not see; do not believe what it says "
      "of "
      "{}",
      cpus.size() == 1 ? "" : "s", format_cpu_list(cpus), cpus.size() == 1 ? "was" : "were", unseen,
      cpus.size() == 1 ? "it" : "them");
}

Status check_not_blind(const ReportLost& lost) {
  std::string text = blind_text(lost);
  if (text.empty()) return success();
  return failure(std::move(text),
                 "restart noised, and run 'noisectl selftest'; what is blind then is a defect of noised's");
}

std::string unsupported_text(const std::vector<std::string>& unsupported) {
  if (unsupported.empty()) return "unsupported: nothing\n";
  std::string text = "unsupported:\n";
  for (const std::string& line : unsupported) text += "  " + printable(line) + "\n";
  return text;
}

}  // namespace noised::views
