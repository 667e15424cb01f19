// SPDX-License-Identifier: Apache-2.0
// Advice as JSON.
#include <cmath>

#include "advice/advice_view.h"
#include "base/parse.h"
#include "views/json_fields.h"
#include "views/json_parts.h"

namespace noised::views {
namespace {

Json text_or_null(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

Json share_json(const Share& share) {
  return Json{{"value", share.value},
              {"low", share.low ? Json(*share.low) : Json(nullptr)},
              {"high", share.high ? Json(*share.high) : Json(nullptr)}};
}

Json gain_json(const Gain& gain) {
  return Json{{"share", share_json(gain.share)},
              {"at_most", gain.at_most},
              {"ns_per_second", static_cast<std::uint64_t>(std::llround(std::max(0.0, gain.share.value * 1e9)))},
              {"detours_per_second", gain.detours_per_second},
              {"longest_ns", gain.longest_ns}};
}

Json remedy_json(const Remedy& remedy) {
  return Json{{"name", remedy.name},
              {"place", to_string(remedy.place)},
              {"setting", text_or_null(remedy.setting)},
              {"state", to_string(remedy.state)},
              {"reason", text_or_null(remedy.reason)},
              {"why", remedy.why},
              {"limits", text_or_null(remedy.limits)}};
}

Json item_json(const AdviceItem& item) {
  Json sources = Json::array();
  for (const AdviceSource& source : item.sources) {
    sources.push_back(
        Json{{"kind", source.kind}, {"name", source.name}, {"count", source.count}, {"self_ns", source.self_ns}});
  }
  Json senders = Json::array();
  for (const auto& [name, count] : item.senders) senders.push_back(Json{{"name", name}, {"count", count}});
  Json remedies = Json::array();
  for (const Remedy& remedy : item.remedies) remedies.push_back(remedy_json(remedy));
  return Json{{"rule", item.rule},
              {"title", item.title},
              {"object", text_or_null(item.object)},
              {"total_ns", item.total_ns},
              {"self_ns", item.self_ns},
              {"overhead_ns", item.overhead_ns},
              {"share", item.share},
              {"sources", std::move(sources)},
              {"senders", std::move(senders)},
              {"remaining_per_second", item.remaining_per_second},
              {"gain", item.gain ? gain_json(*item.gain) : Json(nullptr)},
              {"remedies", std::move(remedies)}};
}

Json plan_json(const AdvicePlan& plan) {
  return Json{{"gain", gain_json(plan.sure)}, {"gain_at_most", gain_json(plan.at_most)}};
}

}  // namespace

std::string to_json(const Advice& advice, const Report& report) {
  Json items = Json::array();
  for (const AdviceItem& item : advice.items) items.push_back(item_json(item));
  Json boot = nullptr;
  if (advice.boot) {
    boot = plan_json(*advice.boot);
    boot["parameters"] = advice.boot_line;
  }
  return dump(Json{{"schema", "noised.advice/1"},
                   {"host", report.host},
                   {"kernel", report.kernel},
                   {"start", report.start},
                   {"settings_known", advice.live},
                   {"settings_unknown_because", text_or_null(advice.why)},
                   {"cpus", format_cpu_list(advice.cpus)},
                   {"housekeeping_cpus", text_or_null(format_cpu_list(advice.housekeeping))},
                   {"observed_ns", advice.observed_ns},
                   {"detours", advice.detours},
                   {"detour_ns", advice.detour_ns},
                   {"shared_overhead_ns", advice.shared_overhead_ns},
                   {"noise", share_json(advice.noise)},
                   {"caused", share_json(advice.caused)},
                   {"advice", std::move(items)},
                   {"boot", std::move(boot)},
                   {"all", plan_json(advice.every)},
                   {"lost", lost_json(report.lost)},
                   {"unsupported", report.unsupported}});
}

}  // namespace noised::views
