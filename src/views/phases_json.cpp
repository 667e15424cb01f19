// SPDX-License-Identifier: Apache-2.0
// Phases for programs.
#include <cmath>

#include "views/format.h"
#include "views/json_fields.h"
#include "views/json_parts.h"
#include "views/phases.h"

namespace noised::views {
namespace {

Json rounded(double ns) { return static_cast<std::int64_t>(std::llround(ns)); }

template <typename Value>
Json nullable(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json nullable_ns(const std::optional<double>& ns) { return ns ? rounded(*ns) : Json(nullptr); }

Json estimate_json(const std::optional<CostEstimate>& estimate) {
  if (!estimate) return nullptr;
  return Json{
      {"ns", rounded(estimate->ns)}, {"low_ns", rounded(estimate->low_ns)}, {"high_ns", rounded(estimate->high_ns)}};
}

Json survival_json(const PhaseDurations& durations) {
  Json points = Json::array();
  for (const Survival& point : durations.survival()) {
    const bool known = point.longer_than_ns.has_value();
    points.push_back({{"p", point.p},
                      {"phases_needed", point.phases_needed},
                      {"longer_than_ns", nullable(point.longer_than_ns)},
                      {"low_ns", known ? Json(point.low_ns) : Json(nullptr)},
                      {"high_ns", known ? Json(point.high_ns) : Json(nullptr)}});
  }
  return points;
}

Json exceeding_json(const PhaseDurations& durations) {
  Json all = Json::array();
  for (const Exceeding& each : durations.exceeding()) {
    all.push_back({{"share", each.share},
                   {"above_ns", each.above_ns},
                   {"phases", each.phases},
                   {"p", each.p},
                   {"low", each.low},
                   {"high", each.high}});
  }
  return all;
}

Json direct_json(const CpuPhases& cpu) {
  Json all = Json::array();
  for (const PhaseDirect& each : cpu.direct) {
    const auto time = [&](std::uint64_t ns) { return each.timed ? Json(ns) : Json(nullptr); };
    all.push_back({{"category", each.category},
                   {"kind", each.kind},
                   {"name", each.name},
                   {"count", each.cost.count},
                   {"total_ns", time(each.cost.self_ns)},
                   {"outside_count", each.cost.outside_count},
                   {"outside_ns", time(each.cost.outside_ns)},
                   {"ledger_count", each.ledger_count},
                   {"ledger_ns", time(each.ledger_ns)}});
  }
  return all;
}

Json indirect_json(const CpuPhases& cpu) {
  const PhaseEpisodes& episodes = cpu.analysis->episodes();
  Json sources = Json::array();
  for (const PhaseIndirect& each : cpu.indirect) {
    const std::string why = no_cost_text(each.cost.why_not);
    sources.push_back({{"sources", each.sources},
                       {"episodes", each.cost.episodes},
                       {"activations", each.cost.activations},
                       {"direct_ns", nullable_ns(each.direct_ns)},
                       {"indirect", estimate_json(each.cost.indirect)},
                       {"in_detour", estimate_json(each.cost.inside)},
                       {"after", estimate_json(each.cost.after)},
                       {"unknown", why.empty() ? Json(nullptr) : Json(why)}});
  }
  return Json{{"phases_after", episodes.reach()},
              {"quiet_phases", episodes.quiet().count()},
              {"base_ns", nullable_ns(cpu.base_ns)},
              {"length_bias_ns", nullable_ns(cpu.length_bias_ns)},
              {"left_out",
               {{"in_doubt", episodes.left_out().in_doubt},
                {"edges", episodes.left_out().edges},
                {"endless", episodes.left_out().endless},
                {"too_many", episodes.left_out().too_many}}},
              {"sources", std::move(sources)}};
}

Json cpu_json(const CpuPhases& cpu) {
  const PhaseDurations& durations = cpu.analysis->durations();
  const Moments& moments = durations.moments();
  const bool any = moments.count() != 0;
  const auto time = [&](std::uint64_t ns) { return any ? Json(ns) : Json(nullptr); };
  return Json{{"cpu", cpu.cpu},
              {"iterations", cpu.iterations},
              {"phases", moments.count()},
              {"total_ns", moments.total_ns()},
              {"calibrated_ns", nullable_ns(durations.calibrated_ns())},
              {"mean_ns", time(moments.mean_ns())},
              {"median_ns", time(durations.median_ns())},
              {"stddev_ns", time(moments.stddev_ns())},
              {"min_ns", time(moments.min_ns())},
              {"max_ns", time(moments.max_ns())},
              {"survival", survival_json(durations)},
              {"exceeding", exceeding_json(durations)},
              {"direct", direct_json(cpu)},
              {"indirect", indirect_json(cpu)}};
}

}  // namespace

std::string to_json(const std::vector<CpuPhases>& cpus, const PhaseSetting& setting, const Report& report) {
  Json all = Json::array();
  for (const CpuPhases& cpu : cpus) all.push_back(cpu_json(cpu));
  return dump(Json{{"schema", "noised.phases/1"},
                   {"grain_ns", nullable(setting.grain_ns)},
                   {"footprint_bytes", nullable(setting.footprint_bytes)},
                   {"policy", setting.policy.empty() ? Json(nullptr) : Json(setting.policy)},
                   {"lost", lost_json(report.lost)},
                   {"unsupported", report.unsupported},
                   {"cpus", std::move(all)}});
}

}  // namespace noised::views
