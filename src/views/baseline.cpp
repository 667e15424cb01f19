// SPDX-License-Identifier: Apache-2.0
// A difference for people and for programs: never without the chance that it is none.
#include "views/baseline.h"
#include "base/text.h"
#include "views/lost.h"

#include <fmt/format.h>

#include <cmath>

#include "model/json_fields.h"
#include "model/json_parts.h"
#include "views/text.h"
#include "views/views.h"

namespace noised::views {
namespace {

const char* word(analysis::ChangeKind change) {
  switch (change) {
    case analysis::ChangeKind::appeared:
      return "new";
    case analysis::ChangeKind::gone:
      return "gone";
    case analysis::ChangeKind::more_frequent:
      return "more frequent";
    case analysis::ChangeKind::less_frequent:
      return "less frequent";
    case analysis::ChangeKind::longer:
      return "longer";
    case analysis::ChangeKind::shorter:
      return "shorter";
  }
  return "";
}

std::uint64_t whole_ns(double ns) { return ns <= 0 ? 0 : static_cast<std::uint64_t>(std::llround(std::min(ns, 9e18))); }

std::string rate_text(double per_second) {
  return format_rate(static_cast<std::uint64_t>(std::llround(std::min(1e9 * per_second, 9e18))),
                     1'000'000'000'000'000'000);
}

std::string time_text(const std::optional<double>& ns) { return ns ? format_duration(whole_ns(*ns)) : "-"; }

std::string signed_text(double ns) { return (ns < 0 ? "-" : "+") + format_duration(whole_ns(std::abs(ns))); }

std::string p_text(double p) { return p < 1e-4 ? fmt::format("{:.0e}", p) : fmt::format("{:.4f}", p); }

std::string run_text(const char* which, const analysis::Baseline& run) {
  std::uint64_t observed_ns = 0;
  for (const analysis::BaselineCpu& cpu : run.cpus) observed_ns = std::max(observed_ns, cpu.observed_ns);
  return fmt::format("{}  {}, kernel {}, {}, {} observed on {} CPU{}; {}\n", which, printable(run.host),
                     printable(run.kernel), run.start.empty() ? "time not known" : "from " + printable(run.start),
                     format_duration(observed_ns), run.cpus.size(), run.cpus.size() == 1 ? "" : "s",
                     lost_totals_text(run.lost));
}

std::string settings_text(const analysis::BaselineDiff& diff) {
  std::string text;
  for (const analysis::SettingChange& setting : diff.settings)
    text += fmt::format("not the same: {}: '{}' before, '{}' now\n", setting.what, printable(setting.before),
                        printable(setting.after));
  if (!diff.not_compared.empty()) {
    text += fmt::format("not compared, as one of both could not see them: sources of kind {}\n",
                        printable(fmt::format("{}", fmt::join(diff.not_compared, ", "))));
  }
  return text;
}

std::string changes_text(const char* title, const std::vector<analysis::SourceChange>& changes) {
  Table table({{"change", Table::Align::left},
               {"source", Table::Align::left},
               {"a second before", Table::Align::right},
               {"now", Table::Align::right},
               {"each before", Table::Align::right},
               {"now", Table::Align::right},
               {"adds a second", Table::Align::right},
               {"p", Table::Align::right}});
  for (const analysis::SourceChange& change : changes)
    table.add({word(change.change), printable(fmt::format("{}:{}", to_string(change.kind), change.name)),
               rate_text(change.before.per_second), rate_text(change.after.per_second),
               time_text(change.before.self_ns), time_text(change.after.self_ns), signed_text(change.added_ns),
               p_text(change.p)});
  return changes.empty() ? "" : std::string("\n") + title + table.text();
}

std::string density_text(const analysis::BaselineDiff& diff) {
  if (!diff.density) return "\ndurations: not compared, one of both has no detour with kernel activity\n";
  const analysis::DensityDifference& density = *diff.density;
  std::string text = fmt::format("\ndurations of detours with kernel activity: {} would have to be elsewhere",
                                 format_share(density.area));
  if (density.more_at_ns > 0 && density.fewer_at_ns > 0) {
    text += fmt::format("; more than before at {}, fewer at {}", format_duration(whole_ns(density.more_at_ns)),
                        format_duration(whole_ns(density.fewer_at_ns)));
  }
  text += fmt::format(" (bandwidth {:.3f} decades)\n", density.bandwidth);
  if (diff.density_differs) return text + fmt::format("that is different: p {}\n", p_text(diff.density_p));
  return text + (density.area < diff.least.density_area
                     ? fmt::format("that is no difference: it is below {}\n", format_share(diff.least.density_area))
                     : fmt::format("that may be chance: p {}\n", p_text(diff.density_p)));
}

std::string conclusion_text(const analysis::BaselineDiff& diff) {
  std::string text = fmt::format("\n{}\n", diff.different() ? "different: " + differences_text(diff) : "no difference");
  text += fmt::format(
      "{} tests of {} and {} blocks of {} each; p is what chance alone would give, with all of them counted; different "
      "is "
      "{} or less\n",
      diff.tests, diff.blocks_before, diff.blocks_after, format_duration(diff.block_ns), analysis::kFamilyLevel);
  text += fmt::format(
      "nothing is called different below {} of each second of a CPU, {} times the rate, {} times the self time, or {} "
      "times the time outside of the kernel: so far two runs of one machine may be apart\n",
      format_duration(whole_ns(diff.least.added_ns)), diff.least.ratio, diff.least.noisy_ratio, diff.least.noisy_ratio);
  if (!diff.power) return text + "so short a run finds no new source\n";
  return text + fmt::format(
                    "a new source that takes so much is found where it comes in {} of these blocks: 95 times in 100 if "
                    "it comes {} times a second, at random\n",
                    diff.power->blocks, rate_text(diff.power->per_second));
}

Json side_json(const analysis::SourceSide& side) {
  return Json{{"count", side.count},
              {"per_second", side.per_second},
              {"self_ns", side.self_ns ? Json(whole_ns(*side.self_ns)) : Json(nullptr)}};
}

Json added_json(double ns) {
  const auto whole = static_cast<std::int64_t>(whole_ns(std::abs(ns)));
  return ns < 0 ? -whole : whole;
}

Json changes_json(const std::vector<analysis::SourceChange>& changes) {
  Json json = Json::array();
  for (const analysis::SourceChange& change : changes)
    json.push_back(Json{{"change", word(change.change)},
                        {"kind", to_string(change.kind)},
                        {"name", change.name},
                        {"before", side_json(change.before)},
                        {"after", side_json(change.after)},
                        {"added_ns_per_second", added_json(change.added_ns)},
                        {"p", change.p}});
  return json;
}

Json density_json(const analysis::BaselineDiff& diff) {
  if (!diff.density) return nullptr;
  return Json{{"different", diff.density_differs},
              {"area", diff.density->area},
              {"bandwidth_decades", diff.density->bandwidth},
              {"more_at_ns", whole_ns(diff.density->more_at_ns)},
              {"fewer_at_ns", whole_ns(diff.density->fewer_at_ns)},
              {"p", diff.density->area < diff.least.density_area ? Json(nullptr) : Json(diff.density_p)}};
}

Json run_json(const analysis::Baseline& run) {
  return Json{{"host", run.host},
              {"kernel", run.kernel},
              {"start", run.start.empty() ? Json(nullptr) : Json(run.start)},
              {"lost", lost_json(run.lost)}};
}

}  // namespace

std::string differences_text(const analysis::BaselineDiff& diff) {
  std::string text;
  if (!diff.changes.empty())
    text = fmt::format("{} change{} of sources", diff.changes.size(), diff.changes.size() == 1 ? "" : "s");
  if (diff.density_differs) text += std::string(text.empty() ? "" : ", and ") + "how long detours are";
  return text;
}

std::string to_text(const analysis::BaselineDiff& diff, const analysis::Baseline& before,
                    const analysis::Baseline& after) {
  return run_text("before", before) + run_text("now   ", after) + settings_text(diff) + changes_text("", diff.changes) +
         changes_text("large, but that may be chance, or it changes within a run as it does between both:\n",
                      diff.undecided) +
         density_text(diff) + conclusion_text(diff);
}

std::string to_json(const analysis::BaselineDiff& diff, const analysis::Baseline& before,
                    const analysis::Baseline& after) {
  Json settings = Json::array();
  for (const analysis::SettingChange& setting : diff.settings)
    settings.push_back({{"what", setting.what}, {"before", setting.before}, {"after", setting.after}});
  Json power = nullptr;
  if (diff.power) power = Json{{"blocks", diff.power->blocks}, {"per_second", diff.power->per_second}};
  return dump(Json{{"schema", "noised.baseline_diff/1"},
                   {"different", diff.different()},
                   {"before", run_json(before)},
                   {"after", run_json(after)},
                   {"settings", std::move(settings)},
                   {"not_compared", diff.not_compared},
                   {"changes", changes_json(diff.changes)},
                   {"undecided", changes_json(diff.undecided)},
                   {"density", density_json(diff)},
                   {"level", analysis::kFamilyLevel},
                   {"tests", diff.tests},
                   {"block_ns", diff.block_ns},
                   {"blocks_before", diff.blocks_before},
                   {"blocks_after", diff.blocks_after},
                   {"least",
                    {{"added_ns_per_second", whole_ns(diff.least.added_ns)},
                     {"ratio", diff.least.ratio},
                     {"moody_ratio", diff.least.noisy_ratio},
                     {"density_area", diff.least.density_area}}},
                   {"new_source", std::move(power)}});
}

}  // namespace noised::views
