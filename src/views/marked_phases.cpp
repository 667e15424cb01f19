// SPDX-License-Identifier: Apache-2.0
// Of each phase: how long, what was taken, and of the late ones what they had more than the typical ones.
#include "views/marked_phases.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/saturating.h"
#include "base/text.h"
#include "views/text.h"
#include "views/views.h"

namespace noised::views {
namespace {

using Align = Table::Align;

constexpr std::size_t kPhasesShown = 12;
constexpr std::size_t kPhaseSourcesShown = 8;
constexpr std::size_t kLongestShown = 3;
constexpr std::size_t kPartsShown = 4;

double mean_of(std::uint64_t total_ns, std::uint64_t count) {
  return count == 0 ? 0 : static_cast<double>(total_ns) / static_cast<double>(count);
}

// What it is more, in the mean, in late phases than in typical ones.
double more(const MarkedPhase& phase, std::uint64_t late_ns, std::uint64_t typical_ns) {
  return mean_of(late_ns, phase.late.count) - mean_of(typical_ns, phase.typical.count);
}

std::string source_name(const MarkedSource& source) { return printable(source.kind + ":" + source.name); }

std::string summary(const WatchReport& report) {
  Table table({{"phase", Align::left},
               {"threads", Align::right},
               {"count", Align::right},
               {"min", Align::right},
               {"median", Align::right},
               {"mean", Align::right},
               {"max", Align::right},
               {"stolen", Align::right},
               {"share", Align::right},
               {"delayed >1%", Align::right}});
  for (const MarkedPhase& phase : report.phases) {
    table.add({printable(phase.name), std::to_string(phase.threads), std::to_string(phase.all.count),
               format_duration(phase.min_ns), format_duration(phase.median_ns), format_duration(phase.mean_ns),
               format_duration(phase.max_ns), format_duration(phase.all.stolen_ns),
               format_share(ratio(phase.all.stolen_ns, phase.all.total_ns)),
               phase.delays.empty() ? "-" : format_share(phase.delays.front().p)});
  }
  return table.text();
}

std::string sources(const MarkedPhase& phase) {
  if (phase.sources.empty()) return "  nothing was taken from it\n";
  Table table({{"  stolen by", Align::left},
               {"category", Align::left},
               {"total", Align::right},
               {"phases", Align::right},
               {"a late one", Align::right},
               {"a typical one", Align::right}});
  const std::size_t shown = std::min(kPhaseSourcesShown, phase.sources.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const MarkedSource& source = phase.sources[i];
    table.add({"  " + source_name(source), printable(source.category), format_duration(source.total_ns),
               std::to_string(source.phases), signed_duration(mean_of(source.late_ns, phase.late.count)),
               signed_duration(mean_of(source.typical_ns, phase.typical.count))});
  }
  return table.text() + (shown < phase.sources.size() ? "  ...\n" : "");
}

// "late: the slowest 21 take 2.10 ms more than the fastest 1010: 2.00 ms task:synthetic, ..., 70.0 us its own".
std::string late(const MarkedPhase& phase) {
  if (phase.late.count + phase.typical.count > phase.all.count) return "";  // all last as long
  std::vector<const MarkedSource*> by_excess;
  by_excess.reserve(phase.sources.size());
  for (const MarkedSource& source : phase.sources) by_excess.push_back(&source);
  const auto excess = [&phase](const MarkedSource* source) { return more(phase, source->late_ns, source->typical_ns); };
  std::ranges::stable_sort(by_excess, [&](const auto* a, const auto* b) { return excess(a) > excess(b); });
  const double whole_ns = more(phase, phase.late.total_ns, phase.typical.total_ns);
  const double stolen_ns = more(phase, phase.late.stolen_ns, phase.typical.stolen_ns);
  std::string text = fmt::format("  late: the slowest {} take {} more than the fastest {}:", phase.late.count,
                                 signed_duration(whole_ns), phase.typical.count);
  double rest_ns = stolen_ns;
  for (std::size_t i = 0; i < std::min(kPartsShown, by_excess.size()) && excess(by_excess[i]) >= 1; ++i) {
    text += fmt::format(" {} {},", signed_duration(excess(by_excess[i])), source_name(*by_excess[i]));
    rest_ns -= excess(by_excess[i]);
  }
  if (std::abs(rest_ns) >= 1) text += fmt::format(" {} other noise,", signed_duration(rest_ns));
  return text + fmt::format(" {} not stolen\n", signed_duration(whole_ns - stolen_ns));
}

std::string longest(const MarkedPhase& phase) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kLongestShown, phase.longest.size()); ++i) {
    const LongPhase& each = phase.longest[i];
    text += fmt::format("  {:>7}  at {}.{:06} s, thread {}: {} stolen", format_duration(each.duration_ns),
                        each.start_ns / 1'000'000'000, each.start_ns % 1'000'000'000 / 1000, each.pid,
                        format_duration(each.stolen_ns));
    for (std::size_t part = 0; part < std::min(kPartsShown, each.sources.size()); ++part)
      text += fmt::format("{}{} {}", part == 0 ? ", " : " + ", printable(each.sources[part].first),
                          format_duration(each.sources[part].second));
    text += each.incomplete ? "  INCOMPLETE\n" : "\n";
  }
  return text;
}

std::string costs(const MarkedPhase& phase) {
  std::string text;
  for (const MarkedDelay& delay : phase.delays) {
    text += fmt::format("{}{} by more than {:g}% ({} to {})", text.empty() ? "  p of a delay: " : ", ",
                        format_share(delay.p), 100 * delay.of_own, format_share(delay.low), format_share(delay.high));
  }
  text += text.empty() ? "" : "\n";
  Table table({{"  ranks", Align::right},
               {"delayed", Align::right},
               {"slowdown", Align::right},
               {"95% interval", Align::left}});
  for (const PhaseCost& cost : phase.costs) {
    if (!cost.slowdown) {
      table.add({std::to_string(cost.ranks), format_share(cost.delayed), "-", "too few phases"});
      break;
    }
    table.add({std::to_string(cost.ranks), format_share(cost.delayed), fmt::format("{:.3f}", *cost.slowdown),
               cost.low ? fmt::format("{:.3f} to {:.3f}", *cost.low, *cost.high) : ""});
  }
  return text + table.text();
}

std::string missing(const MarkLosses& marks) {
  std::string text;
  const auto add = [&text](std::uint64_t count, const char* what) {
    if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  };
  add(marks.marks, "marks overwritten");
  add(marks.unpaired, "marks without the other");
  add(marks.unsettled, "phases ended too late to know their losses");
  add(marks.early, "phases began before the watching");
  add(marks.unwatched, "phases of threads that are not watched");
  add(marks.files, "files of marks not readable");
  add(marks.losses, "losses not told in time");
  return text.empty() ? "" : "not in the phases: " + text + "\n";
}

}  // namespace

std::string marked_text(const WatchReport& report) {
  if (!report.marks) return "";
  if (report.phases.empty()) return "\nno phase was marked and watched\n" + missing(*report.marks);
  std::string text =
      "\nphases that the application marked (share: of their time; delayed: by more than 1% of their own)\n";
  text += summary(report);
  const std::size_t shown = std::min(kPhasesShown, report.phases.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const MarkedPhase& phase = report.phases[i];
    text += "\nphase " + printable(phase.name) + "\n" + sources(phase) + late(phase) + longest(phase) + costs(phase);
    if (phase.incomplete != 0) text += fmt::format("  incomplete: {}, in which events were lost\n", phase.incomplete);
  }
  return text + missing(*report.marks);
}

}  // namespace noised::views
