// SPDX-License-Identifier: Apache-2.0
// What was analysed, with names and figures of the report.
#include "views/phases.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "statistics/combinations.h"
#include "views/format.h"
#include "views/views.h"

namespace noised::views {
namespace {

std::string label(const SourceTable& sources, SourceId id) {
  if (id == kOtherSource) return "others";
  return fmt::format("{}:{}", to_string(sources.at(id).kind), sources.at(id).name);
}

std::vector<PhaseDirect> direct_of(unsigned cpu, const PhaseAnalysis& analysis, const SourceTable& sources,
                                   const Report& report) {
  std::vector<PhaseDirect> all;
  for (SourceId id = 0; id < analysis.direct().size(); ++id) {
    const DirectCost& cost = analysis.direct()[id];
    if (cost.count + cost.outside_count == 0) continue;
    const Source& source = sources.at(id);
    PhaseDirect direct{std::string(to_string(source.category)), std::string(to_string(source.kind)), source.name, cost};
    for (const ReportSource& told : report.sources) {
      if (told.cpu != cpu || told.kind != direct.kind || told.name != direct.name) continue;
      direct.ledger_count = told.count;
      direct.ledger_ns = told.total_ns;
      direct.timed = told.kind != "page_fault" || told.max_ns != 0;
    }
    all.push_back(std::move(direct));
  }
  std::sort(all.begin(), all.end(), [](const PhaseDirect& a, const PhaseDirect& b) {
    return std::tie(b.cost.self_ns, b.cost.count, a.kind, a.name) <
           std::tie(a.cost.self_ns, a.cost.count, b.kind, b.name);
  });
  return all;
}

PhaseIndirect named(IndirectCost cost, const std::vector<DirectCost>& direct, const SourceTable& sources) {
  PhaseIndirect result;
  double direct_ns = 0;
  for (std::size_t i = 0; i < cost.sources.size(); ++i) {
    const SourceId id = cost.sources[i];
    result.sources.push_back(label(sources, id));
    if (id < direct.size() && direct[id].count != 0)
      direct_ns += cost.each[i] * static_cast<double>(direct[id].self_ns) / static_cast<double>(direct[id].count);
  }
  if (direct_ns > 0) result.direct_ns = direct_ns;
  result.cost = std::move(cost);
  return result;
}

}  // namespace

CpuPhases phases_of(unsigned cpu, const PhaseAnalysis& analysis, const SourceTable& sources, const Report& report) {
  CpuPhases result;
  result.cpu = cpu;
  result.analysis = &analysis;
  result.direct = direct_of(cpu, analysis, sources, report);
  IndirectCosts costs = indirect_costs(analysis.episodes());
  result.base_ns = costs.base_ns;
  result.length_bias_ns = costs.length_bias_ns;
  for (IndirectCost& cost : costs.sources)
    result.indirect.push_back(named(std::move(cost), analysis.direct(), sources));
  return result;
}

std::string signed_duration(double ns) {
  const std::string text = format_duration(static_cast<std::uint64_t>(std::llround(std::abs(ns))));
  return ns < -0.5 ? "-" + text : text;
}

std::string setting_text(const PhaseSetting& setting) {
  std::string text;
  if (setting.grain_ns) text += ", calibrated to " + format_duration(*setting.grain_ns);
  if (setting.footprint_bytes) {
    text += *setting.footprint_bytes == 0 ? ", no footprint"
                                          : fmt::format(", footprint {} KiB", *setting.footprint_bytes / 1024);
  }
  if (!setting.policy.empty()) text += ", policy " + setting.policy;
  return text;
}

std::string names_text(const PhaseIndirect& cost) {
  return printable(fmt::format("{}", fmt::join(cost.sources, " + ")));
}

std::string estimate_text(const std::optional<CostEstimate>& estimate) {
  if (!estimate) return "-";
  return fmt::format("{} ({} to {})", signed_duration(estimate->ns), signed_duration(estimate->low_ns),
                     signed_duration(estimate->high_ns));
}

std::string no_cost_text(NoCost why) {
  switch (why) {
    case NoCost::few:
      return "too few episodes (30 are needed)";
    case NoCost::always:
      return "no phase is without it: choose a grain below its period";
    case NoCost::never_quiet:
      return "no phase is without any source: choose a shorter grain";
    case NoCost::tangled:
      return "it comes with others, not always the same, and cannot be told from them";
    case NoCost::none:
      break;
  }
  return "";
}

}  // namespace noised::views
