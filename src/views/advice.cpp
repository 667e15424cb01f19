// SPDX-License-Identifier: Apache-2.0
// Advice as people read it: the largest gain first, each remedy explained where it comes first.
#include "views/advice.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/cpus.h"
#include "base/text.h"
#include "model/json_fields.h"
#include "model/json_parts.h"
#include "views/report.h"
#include "views/text.h"
#include "views/views.h"

namespace noised::views {
namespace {

Json text_or_null(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

Json share_json(const analysis::Share& share) {
  return Json{{"value", share.value},
              {"low", share.low ? Json(*share.low) : Json(nullptr)},
              {"high", share.high ? Json(*share.high) : Json(nullptr)}};
}

Json gain_json(const analysis::Gain& gain) {
  return Json{{"share", share_json(gain.share)},
              {"at_most", gain.at_most},
              {"ns_per_second", static_cast<std::uint64_t>(std::llround(std::max(0.0, gain.share.value * 1e9)))},
              {"detours_per_second", gain.detours_per_second},
              {"longest_ns", gain.longest_ns}};
}

Json remedy_json(const analysis::Remedy& remedy) {
  return Json{{"name", remedy.name},
              {"place", to_string(remedy.place)},
              {"setting", text_or_null(remedy.setting)},
              {"state", to_string(remedy.state)},
              {"reason", text_or_null(remedy.reason)},
              {"why", remedy.why},
              {"limits", text_or_null(remedy.limits)}};
}

Json item_json(const analysis::AdviceItem& item) {
  Json sources = Json::array();
  for (const analysis::AdviceSource& source : item.sources) {
    sources.push_back(
        Json{{"kind", source.kind}, {"name", source.name}, {"count", source.count}, {"self_ns", source.self_ns}});
  }
  Json senders = Json::array();
  for (const auto& [name, count] : item.senders) senders.push_back(Json{{"name", name}, {"count", count}});
  Json remedies = Json::array();
  for (const analysis::Remedy& remedy : item.remedies) remedies.push_back(remedy_json(remedy));
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

Json plan_json(const analysis::AdvicePlan& plan) {
  return Json{{"gain", gain_json(plan.sure)}, {"gain_at_most", gain_json(plan.at_most)}};
}

}  // namespace

std::string to_json(const analysis::Advice& advice, const Report& report) {
  Json items = Json::array();
  for (const analysis::AdviceItem& item : advice.items) items.push_back(item_json(item));
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

namespace {

constexpr std::size_t kSourcesShown = 4;

std::string gain_text(const analysis::Gain& gain) {
  std::string text =
      fmt::format("{}{}{}", gain.at_most ? "at most " : "", format_share(gain.share.value), limits_text(gain.share));
  if (gain.detours_per_second > 0) text += fmt::format(", {:.3g} detours a second", gain.detours_per_second);
  if (gain.longest_ns > 0) text += fmt::format(", up to {} of one", format_duration(gain.longest_ns));
  return text;
}

std::string title_of(const analysis::AdviceItem& item) {
  return item.object.empty() ? item.title : fmt::format("{}: {}", item.title, printable(item.object));
}

// "of 31.2 ms: hrtimer:tick_nohz_handler 625 times 17.5 ms, ... 3 more; overhead 3.1 ms".
std::string sources_text(const analysis::AdviceItem& item) {
  std::string text = fmt::format("{} measured", format_duration(item.total_ns));
  std::size_t shown = 0;
  for (const analysis::AdviceSource& source : item.sources) {
    if (shown++ == kSourcesShown) {
      text += fmt::format(", {} more", item.sources.size() - kSourcesShown);
      break;
    }
    text += fmt::format("{}{}:{} {} times {}", shown == 1 ? ": " : ", ", source.kind, printable(source.name),
                        source.count, format_duration(source.self_ns));
  }
  if (item.overhead_ns > 0) text += fmt::format(", overhead {}", format_duration(item.overhead_ns));
  for (std::size_t i = 0; i < std::min(kSourcesShown, item.senders.size()); ++i) {
    text += fmt::format("{}{} ({})", i == 0 ? "; sent by " : ", ", printable(item.senders[i].first),
                        item.senders[i].second);
  }
  return text;
}

/// Writes remedies, and remembers which were explained.
class Remedies {
 public:
  /// `known`: why settings are unknown, where all are.
  explicit Remedies(std::string_view known) : known_(known) {}

  std::string text(const std::vector<analysis::Remedy>& remedies) {
    std::string text;
    for (const analysis::Remedy& remedy : remedies) {
      const bool first = remedy.id == analysis::RemedyId::avoid_cause || explained_.insert(remedy.id).second;
      if (remedy.setting.empty() && remedy.state == analysis::RemedyState::advice) {
        text += fmt::format("   - {}{}\n", first ? remedy.why : remedy.name, first ? "" : " (see above)");
      } else if (remedy.setting.empty()) {
        text += fmt::format("   - {}: {}\n", remedy.name, printable(state_text(remedy, known_)));
      } else {
        text += fmt::format("   - {}: {}\n", printable(place_text(remedy)), printable(state_text(remedy, known_)));
        if (first) text += fmt::format("     {}\n", remedy.why);
      }
      if (first && !remedy.limits.empty()) text += fmt::format("     but: {}\n", remedy.limits);
    }
    return text;
  }

 private:
  std::string_view known_;
  std::set<analysis::RemedyId> explained_;
};

std::string gains_text(const analysis::Advice& advice, Remedies& remedies) {
  std::string text;
  std::size_t number = 0;
  for (const analysis::AdviceItem& item : advice.items) {
    if (!item.gain) continue;
    text += fmt::format("\n{}. {}\n   gain {}\n   {}\n", ++number, title_of(item), gain_text(*item.gain),
                        sources_text(item));
    if (item.remaining_per_second > 0)
      text += fmt::format("   of them {:g} a second on each CPU is taken to stay\n", item.remaining_per_second);
    text += remedies.text(item.remedies);
  }
  if (number == 0) return "\nnothing to change is known of\n";
  return "\nwhat to change, by gain (share of the CPUs' time, 95% limits; detours that would not be there)\n" + text;
}

std::string plan_text(const analysis::AdvicePlan& plan) {
  std::string text = gain_text(plan.sure);
  if (plan.at_most.share.value > plan.sure.share.value) text += fmt::format("; {}", gain_text(plan.at_most));
  return text;
}

std::string together_text(const analysis::Advice& advice) {
  std::string text;
  if (advice.boot) {
    text += fmt::format("\nthe kernel's command line, as a whole: {}\n   gain {}\n", printable(advice.boot_line),
                        plan_text(*advice.boot));
  }
  const auto host = std::find_if(advice.items.begin(), advice.items.end(),
                                 [](const analysis::AdviceItem& item) { return item.rule == "hypervisor"; });
  if (host != advice.items.end())
    text +=
        "\nthe host of this virtual machine takes CPUs away: what it took inside of an interval is in that one's "
        "gain\n";
  return text + fmt::format("\nall of it together: gain {}, of {} that has a cause\n", plan_text(advice.every),
                            format_share(advice.caused.value));
}

std::string rest_text(const analysis::Advice& advice, Remedies& remedies) {
  std::string text;
  for (const analysis::AdviceItem& item : advice.items) {
    if (item.gain) continue;
    text += fmt::format("\n{} ({} of the noise): {}\n", title_of(item), format_share(item.share), sources_text(item));
    text += remedies.text(item.remedies);
  }
  if (!text.empty()) text = "\nno gain to expect: no setting is known, or it is there already\n" + text;
  if (advice.shared_overhead_ns > 0) {
    text += fmt::format(
        "\noverhead of detours with several of these: {}, {} of the noise; it goes where all of them do\n",
        format_duration(advice.shared_overhead_ns), format_share(ratio(advice.shared_overhead_ns, advice.detour_ns)));
  }
  return text;
}

}  // namespace

std::string limits_text(const analysis::Share& share) {
  if (!share.low) return "";
  return fmt::format(" ({} to {})", format_share(*share.low), format_share(*share.high));
}

std::string place_text(const analysis::Remedy& remedy) {
  switch (remedy.place) {
    case analysis::RemedyPlace::boot:
      return fmt::format("{} on the kernel's command line", remedy.setting);
    case analysis::RemedyPlace::sysctl:
      return fmt::format("sysctl {}", remedy.setting);
    default:
      return std::string(remedy.setting);
  }
}

std::string state_text(const analysis::Remedy& remedy, std::string_view known) {
  // What holds for all of them is said once, at the top.
  const std::string reason = remedy.reason.empty() || remedy.reason == known ? "" : ": " + remedy.reason;
  switch (remedy.state) {
    case analysis::RemedyState::set:
      return "already set";
    case analysis::RemedyState::not_set:
      return "not set";
    case analysis::RemedyState::unknown:
      return "not known whether it is set" + reason;
    case analysis::RemedyState::impossible:
      return "cannot be" + reason;
    case analysis::RemedyState::advice:
      break;
  }
  return "";
}

std::string to_text(const analysis::Advice& advice, const Report& report) {
  std::string text = report_head(report);
  text += fmt::format(
      "\nCPU {}: {} of {} observed, {}{} of the time, in {} detours; {}{} has a "
      "cause in the kernel\n",
      format_cpu_list(advice.cpus), format_duration(advice.detour_ns), format_duration(advice.observed_ns),
      format_share(advice.noise.value), limits_text(advice.noise), advice.detours, format_share(advice.caused.value),
      limits_text(advice.caused));
  text += advice.live ? "settings are those of now; nothing was changed\n"
                      : fmt::format("settings are not known, but for the command line's: {}\n", advice.why);
  Remedies remedies(advice.why);
  text += gains_text(advice, remedies);
  text += together_text(advice);
  text += rest_text(advice, remedies);
  return text + report_tail(report);
}

}  // namespace noised::views
