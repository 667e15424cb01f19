// SPDX-License-Identifier: Apache-2.0
#include "views/verdict.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/saturating.h"
#include "base/text.h"
#include "views/lost.h"
#include "views/own.h"
#include "views/sources.h"
#include "views/text.h"
#include "views/views.h"

namespace noised::views {
namespace {

constexpr std::size_t kNamed = 3;
// Below it, a detour may have been given another's intervals (packaging/doc/reading.md).
constexpr double kBelieved = 0.999;

bool watches_tasks(const Report& report) {
  return std::ranges::all_of(report.cpus, [](const ReportCpu& cpu) { return cpu.mode == "watch"; });
}

std::string stolen_line(const Report& report) {
  const auto share = [](const ReportCpu& cpu) { return ratio(cpu.detour_ns, cpu.observed_ns); };
  const ReportCpu& worst = *std::ranges::max_element(report.cpus, {}, share);
  const ReportCpu& longest = *std::ranges::max_element(report.cpus, {}, &ReportCpu::max_detour_ns);
  const bool several = report.cpus.size() > 1;
  std::uint64_t detours = 0;
  for (const ReportCpu& cpu : report.cpus) detours = saturating_add(detours, cpu.detours);
  const std::uint64_t stolen_ns = stolen_ns_of_all(report);
  const std::uint64_t observed_ns = observed_ns_of_all(report);
  const std::string where =
      several ? fmt::format("{} CPUs (CPU {}: {})", report.cpus.size(), worst.cpu, format_share(share(worst)))
              : fmt::format("CPU {}", worst.cpu);
  return fmt::format(
      "stolen     {} of the {} {} on {}: {} in {} detours{}\n", format_share(ratio(stolen_ns, observed_ns)),
      format_duration(observed_ns), watches_tasks(report) ? "in which tasks could run" : "observed", where,
      format_duration(stolen_ns), detours,
      longest.max_detour_ns == 0 ? ""
                                 : fmt::format(", the longest {}{}", format_duration(longest.max_detour_ns),
                                               several ? fmt::format(" (CPU {})", longest.cpu) : ""));
}

std::string source_line(const Report& report) {
  const std::uint64_t stolen_ns = stolen_ns_of_all(report);
  if (stolen_ns == 0) return "by         nothing\n";
  std::string text;
  std::size_t named = 0;
  for (const ReportSource& source : all_cpus(report)) {
    if (!is_event(source) || source.total_ns == 0) continue;
    if (named++ == kNamed) break;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(short_label(source)),
                        format_share(ratio(source.total_ns, stolen_ns)));
  }
  Ledger sum;
  for (const ReportCpu& cpu : report.cpus) sum += cpu;
  text +=
      fmt::format("{}all with a name {}", text.empty() ? "" : "; ", format_share(ratio(sum.explained_ns, stolen_ns)));
  sum.for_each_gap([&](Kind kind, std::uint64_t ns) {
    text += fmt::format(", {} {}", to_string(kind), format_share(ratio(ns, stolen_ns)));
  });
  return "by         " + text + "\n";
}

std::string belief(const Report& report) {
  const bool blind = !blind_text(report.lost).empty();
  const std::optional<double>& containment = report.clock.containment;
  const std::string lost = lost_totals_text(report.lost);
  if (blind) return "no: a CPU was blind (above)";
  if (containment && *containment < kBelieved)
    return fmt::format("no: containment is {}, and is to be above {}; {}", format_containment(*containment),
                       format_containment(kBelieved), lost);
  const std::string contained = containment             ? "containment " + format_containment(*containment)
                                : watches_tasks(report) ? std::string()
                                                        : "containment not known";
  return fmt::format("{}: {}{}{}",
                     anything_lost(report.lost)             ? "with care"
                     : containment || watches_tasks(report) ? "yes"
                                                            : "as far as is known",
                     contained, contained.empty() ? "" : ", ", lost);
}

}  // namespace

std::string verdict_text(const Report& report, const std::string& selftest) {
  if (report.cpus.empty()) return "stolen     not known: no CPU was observed\n";
  return stolen_line(report) + source_line(report) +
         fmt::format("believe    {}{}{}; noised and noisectl took of it: {}\n", belief(report),
                     selftest.empty() ? "" : "; ", selftest, own_noise_text(report.sources, stolen_ns_of_all(report)));
}

}  // namespace noised::views
