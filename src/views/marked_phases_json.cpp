// SPDX-License-Identifier: Apache-2.0
#include "views/marked_phases.h"

namespace noised::views {
namespace {

constexpr auto kGroup = [](auto& group, const auto& field) {
  field("count", group.count);
  field("total_ns", group.total_ns);
  field("stolen_ns", group.stolen_ns);
};

constexpr auto kSource = [](auto& source, const auto& field) {
  field("category", source.category);
  field("kind", source.kind);
  field("name", source.name);
  field("total_ns", source.total_ns);
  field("phases", source.phases);
  field("late_ns", source.late_ns);
  field("typical_ns", source.typical_ns);
};

constexpr auto kLong = [](auto& phase, const auto& field) {
  field("pid", phase.pid);
  field("start_ns", phase.start_ns);
  field("duration_ns", phase.duration_ns);
  field("stolen_ns", phase.stolen_ns);
  field("incomplete", phase.incomplete);
};

constexpr auto kNamed = [](auto& phase, const auto& field) {
  field("name", phase.name);
  field("threads", phase.threads);
};

constexpr auto kDurations = [](auto& phase, const auto& field) {
  field("incomplete", phase.incomplete);
  field("min_ns", phase.min_ns);
  field("mean_ns", phase.mean_ns);
  field("median_ns", phase.median_ns);
  field("max_ns", phase.max_ns);
  field("delayed", phase.delayed);
};

constexpr auto kMarks = [](auto& marks, const auto& field) {
  field("lost", marks.marks);
  field("unpaired", marks.unpaired);
  field("unsettled", marks.unsettled);
  field("early", marks.early);
  field("unwatched", marks.unwatched);
  field("files", marks.files);
  field("losses", marks.losses);
};

Json long_json(const LongPhase& phase) {
  Json json = members_json(kLong, phase);
  json["sources"] = Json::array();
  for (const auto& [name, ns] : phase.sources) json["sources"].push_back(Json{{"source", name}, {"ns", ns}});
  return json;
}

void read_long(const Fields& fields, LongPhase& phase) {
  read_members(fields, kLong, phase);
  fields.each("sources", [&](const Fields& item) {
    auto& [name, ns] = phase.sources.emplace_back();
    item.read("source", name);
    item.read("ns", ns);
  });
}

Json cost_json(const PhaseCost& cost) {
  return Json{{"ranks", cost.ranks},
              {"delayed", cost.delayed},
              {"slowdown", cost.slowdown ? Json(*cost.slowdown) : Json(nullptr)}};
}

void read_cost(const Fields& fields, PhaseCost& cost) {
  fields.read("ranks", cost.ranks);
  fields.read("delayed", cost.delayed);
  fields.read("slowdown", cost.slowdown);
}

Json phase_json(const MarkedPhase& phase) {
  Json json = members_json(kNamed, phase);
  add_members(kGroup, phase.all, json);
  add_members(kDurations, phase, json);
  json.update(Json{{"late", members_json(kGroup, phase.late)},
                   {"typical", members_json(kGroup, phase.typical)},
                   {"sources", Json::array()},
                   {"longest", Json::array()},
                   {"costs", Json::array()}});
  for (const MarkedSource& source : phase.sources) json["sources"].push_back(members_json(kSource, source));
  for (const LongPhase& longest : phase.longest) json["longest"].push_back(long_json(longest));
  for (const PhaseCost& cost : phase.costs) json["costs"].push_back(cost_json(cost));
  return json;
}

void read_phase(const Fields& fields, MarkedPhase& phase) {
  read_members(fields, kNamed, phase);
  read_members(fields, kGroup, phase.all);
  read_members(fields, kDurations, phase);
  fields.object("late", [&](const Fields& inner) { read_members(inner, kGroup, phase.late); });
  fields.object("typical", [&](const Fields& inner) { read_members(inner, kGroup, phase.typical); });
  fields.each("sources", [&](const Fields& item) { read_members(item, kSource, phase.sources.emplace_back()); });
  fields.each("longest", [&](const Fields& item) { read_long(item, phase.longest.emplace_back()); });
  fields.each("costs", [&](const Fields& item) { read_cost(item, phase.costs.emplace_back()); });
}

}  // namespace

void add_marked(const WatchReport& report, Json& json) {
  json["marks"] = members_json(kMarks, *report.marks);
  json["phases"] = Json::array();
  for (const MarkedPhase& phase : report.phases) json["phases"].push_back(phase_json(phase));
}

void read_marked(const Fields& fields, WatchReport& report) {
  MarkLosses& marks = report.marks.emplace();
  fields.object("marks", [&](const Fields& inner) { read_members(inner, kMarks, marks); });
  fields.each("phases", [&](const Fields& item) { read_phase(item, report.phases.emplace_back()); });
}

}  // namespace noised::views
