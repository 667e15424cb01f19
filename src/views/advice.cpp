// SPDX-License-Identifier: Apache-2.0
// Advice as people read it: the largest gain first, each remedy explained where it comes first.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "advice/advice_view.h"
#include "base/parse.h"
#include "views/format.h"
#include "views/report_tables.h"
#include "views/views.h"

namespace noised::views {
namespace {

constexpr std::size_t kSourcesShown = 4;

std::string gain_text(const Gain& gain) {
  std::string text =
      fmt::format("{}{}{}", gain.at_most ? "at most " : "", format_share(gain.share.value), limits_text(gain.share));
  if (gain.detours_per_second > 0) text += fmt::format(", {:.3g} detours a second", gain.detours_per_second);
  if (gain.longest_ns > 0) text += fmt::format(", up to {} of one", format_duration(gain.longest_ns));
  return text;
}

std::string title_of(const AdviceItem& item) {
  return item.object.empty() ? item.title : fmt::format("{}: {}", item.title, printable(item.object));
}

// "of 31.2 ms: hrtimer:tick_nohz_handler 625 times 17.5 ms, ... 3 more; overhead 3.1 ms".
std::string sources_text(const AdviceItem& item) {
  std::string text = fmt::format("{} measured", format_duration(item.total_ns));
  std::size_t shown = 0;
  for (const AdviceSource& source : item.sources) {
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

  std::string text(const std::vector<Remedy>& remedies) {
    std::string text;
    for (const Remedy& remedy : remedies) {
      const bool first = remedy.id == RemedyId::avoid_cause || explained_.insert(remedy.id).second;
      if (remedy.setting.empty() && remedy.state == RemedyState::advice) {
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
  std::set<RemedyId> explained_;
};

std::string gains_text(const Advice& advice, Remedies& remedies) {
  std::string text;
  std::size_t number = 0;
  for (const AdviceItem& item : advice.items) {
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

std::string plan_text(const AdvicePlan& plan) {
  std::string text = gain_text(plan.sure);
  if (plan.at_most.share.value > plan.sure.share.value) text += fmt::format("; {}", gain_text(plan.at_most));
  return text;
}

std::string together_text(const Advice& advice) {
  std::string text;
  if (advice.boot) {
    text += fmt::format("\nthe kernel's command line, as a whole: {}\n   gain {}\n", printable(advice.boot_line),
                        plan_text(*advice.boot));
  }
  const auto host = std::find_if(advice.items.begin(), advice.items.end(),
                                 [](const AdviceItem& item) { return item.rule == "hypervisor"; });
  if (host != advice.items.end())
    text +=
        "\nthe host of this virtual machine takes CPUs away: what it took inside of an interval is in that one's "
        "gain\n";
  return text + fmt::format("\nall of it together: gain {}, of {} that has a cause\n", plan_text(advice.every),
                            format_share(advice.caused.value));
}

std::string rest_text(const Advice& advice, Remedies& remedies) {
  std::string text;
  for (const AdviceItem& item : advice.items) {
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

std::string limits_text(const Share& share) {
  if (!share.low) return "";
  return fmt::format(" ({} to {})", format_share(*share.low), format_share(*share.high));
}

std::string place_text(const Remedy& remedy) {
  switch (remedy.place) {
    case RemedyPlace::boot:
      return fmt::format("{} on the kernel's command line", remedy.setting);
    case RemedyPlace::sysctl:
      return fmt::format("sysctl {}", remedy.setting);
    default:
      return std::string(remedy.setting);
  }
}

std::string state_text(const Remedy& remedy, std::string_view known) {
  // What holds for all of them is said once, at the top.
  const std::string reason = remedy.reason.empty() || remedy.reason == known ? "" : ": " + remedy.reason;
  switch (remedy.state) {
    case RemedyState::set:
      return "already set";
    case RemedyState::not_set:
      return "not set";
    case RemedyState::unknown:
      return "not known whether it is set" + reason;
    case RemedyState::impossible:
      return "cannot be" + reason;
    case RemedyState::advice:
      break;
  }
  return "";
}

std::string to_text(const Advice& advice, const Report& report) {
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
