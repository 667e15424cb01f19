// SPDX-License-Identifier: Apache-2.0
#include "page/cost_json.h"

#include <algorithm>
#include <string>

#include "views/estimate_text.h"

namespace noised::page {
namespace {

using views::Json;

Json size_json(const JobSize& size) {
  const Estimate& excess = size.excess;
  if (!excess.value) return Json{{"nodes", size.nodes}, {"excess", Json()}, {"text", views::needs_text(excess)}};
  return Json{{"nodes", size.nodes},
              {"excess", Json::array({*excess.value, *excess.low, *excess.high})},
              {"text", views::slowdown_text(*excess.value, *excess.low)},
              {"range", views::slowdown_range(excess)}};
}

Json survival_json(const PhaseDurations& durations) {
  Json points = Json::array();
  for (const Survival& point : durations.survival()) {
    if (point.longer_than_ns)
      points.push_back(Json::array({point.p, *point.longer_than_ns, point.low_ns, point.high_ns}));
  }
  return points;
}

}  // namespace

Json projection_json(const PageInput& input) {
  const Projection& projection = input.projection.projection;
  Json sizes = Json::array();
  for (const JobSize& size : projection.sizes) sizes.push_back(size_json(size));
  return Json{{"grain_ns", projection.grain_ns}, {"sizes", std::move(sizes)}};
}

Json phases_json(const PageInput& input) {
  Json cpus = Json::array();
  for (std::size_t i = 0; i < std::min(input.phases.cpus.size(), kMostPhaseCpus); ++i) {
    const PhaseDurations& durations = input.phases.cpus[i].analysis->durations();
    cpus.push_back(Json{{"cpu", input.phases.cpus[i].cpu},
                        {"work_ns", durations.calibrated_ns().value_or(0)},
                        {"points", survival_json(durations)}});
  }
  return cpus;
}

}  // namespace noised::page
