// SPDX-License-Identifier: Apache-2.0
// The projection as JSON.
#include <cmath>

#include <fmt/format.h>

#include "views/json_fields.h"
#include "views/json_parts.h"
#include "views/project.h"

namespace noised::views {
namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json estimate_json(const Estimate& estimate) {
  return Json{{"value", or_null(estimate.value)},
              {"low", or_null(estimate.low)},
              {"high", or_null(estimate.high)},
              {"needs_ns", or_null(estimate.needs_ns)}};
}

Json whole_ns(const std::optional<double>& ns) { return ns ? Json(std::llround(*ns)) : Json(nullptr); }

Json exceeded_json(const std::vector<ExceededDelay>& exceeded) {
  Json rows = Json::array();
  for (const ExceededDelay& row : exceeded) {
    rows.push_back(Json{{"probability", row.probability},
                        {"delay_ns", whole_ns(row.delay_ns.value)},
                        {"low_ns", whole_ns(row.delay_ns.low)},
                        {"high_ns", whole_ns(row.delay_ns.high)},
                        {"needs_ns", or_null(row.delay_ns.needs_ns)}});
  }
  return rows;
}

Estimate slowdown_of(Estimate excess) {
  for (std::optional<double>* const end : {&excess.value, &excess.low, &excess.high}) {
    if (*end) **end += 1;
  }
  return excess;
}

Json sizes_json(const std::vector<JobSize>& sizes) {
  Json rows = Json::array();
  for (const JobSize& size : sizes) {
    rows.push_back(Json{{"nodes", size.nodes},
                        {"delayed", estimate_json(size.delayed)},
                        {"linear", or_null(size.linear)},
                        {"linear_error", or_null(size.linear_error)},
                        {"slowdown", estimate_json(slowdown_of(size.excess))}});
  }
  return rows;
}

std::string label(const RemovableSource& source) { return fmt::format("{}:{}", to_string(source.kind), source.name); }

Json source_json(const RemovableSource& source) {
  return Json{
      {"source", label(source)}, {"count", source.count}, {"total_ns", source.total_ns}, {"max_ns", source.longest_ns}};
}

Json sources_json(const std::vector<RemovableSource>& sources) {
  Json rows = Json::array();
  for (const RemovableSource& source : sources) rows.push_back(source_json(source));
  return rows;
}

Json gains_json(const Projection& projection) {
  Json rows = Json::array();
  for (const SourceGain& gain : projection.gains) {
    Json row = source_json(gain.source);
    Json& by_size = row["gains"] = Json::array();
    for (std::size_t i = 0; i < gain.excess.size(); ++i) {
      Json each{{"nodes", projection.sizes[i].nodes}};
      each.update(estimate_json(gain.excess[i]));
      by_size.push_back(std::move(each));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::string to_json(const ProjectionView& view) {
  const Projection& projection = view.projection;
  Json ranked_by = nullptr;
  if (projection.ranked_by) ranked_by = projection.sizes[*projection.ranked_by].nodes;
  return dump(Json{{"schema", "noised.projection/1"},
                   {"grain_ns", projection.grain_ns},
                   {"cpus", projection.cpus},
                   {"cpus_without_a_phase", projection.left_out},
                   {"longest_stretch_ns", view.longest_stretch_ns},
                   {"observed_ns", projection.observed_ns},
                   {"unseen_ns", projection.unseen_ns},
                   {"confidence", 0.95},
                   {"p", estimate_json(projection.delayed)},
                   {"p_at_most", or_null(projection.delayed_at_most)},
                   {"exceeded", exceeded_json(projection.exceeded)},
                   {"sizes", sizes_json(projection.sizes)},
                   {"ranked_by_nodes", std::move(ranked_by)},
                   {"sources", gains_json(projection)},
                   {"sources_not_projected", sources_json(not_projected(view))},
                   {"sources_not_timed", sources_json(view.untimed)},
                   {"lost", lost_json(view.report.lost)},
                   {"unsupported", view.report.unsupported}});
}

}  // namespace noised::views
