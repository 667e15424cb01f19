// SPDX-License-Identifier: Apache-2.0
// What can be set against the noise: as noisectl advise tells it. Rows add up to the stolen time.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/cpus.h"
#include "page/html.h"
#include "page/page.h"
#include "views/advice.h"
#include "views/text.h"

namespace noised::page {
namespace {

constexpr std::size_t kSourcesShown = 4;

std::string bounded_share_html(const analysis::Share& share) {
  return escape_html(views::format_share(share.value) + views::limits_text(share));
}

std::string of_noise_html(std::uint64_t ns, const analysis::Advice& advice) {
  return escape_html(views::format_share(views::ratio(ns, advice.detour_ns)));
}

std::string gain_html(const analysis::Gain& gain) {
  std::string html = (gain.at_most ? "at most " : "") + escape_html(views::format_share(gain.share.value));
  if (gain.share.low) html += "<br>" + escape_html(views::limits_text(gain.share));
  if (gain.detours_per_second > 0) html += fmt::format("<br>{:.3g} detours a second", gain.detours_per_second);
  if (gain.longest_ns > 0) html += "<br>up to " + duration_html(gain.longest_ns) + " of one";
  return html;
}

std::string noise_html(const analysis::AdviceItem& item) {
  std::string html = "<strong>" + escape_html(item.title) + "</strong>";
  if (!item.object.empty()) html += ": " + code_html(item.object);
  std::string parts;
  for (std::size_t i = 0; i < std::min(kSourcesShown, item.sources.size()); ++i) {
    const analysis::AdviceSource& source = item.sources[i];
    parts += fmt::format("{}{} {} times {}", i == 0 ? "" : ", ", code_html(source.kind + ":" + source.name),
                         grouped(source.count), duration_html(source.self_ns));
  }
  if (item.sources.size() > kSourcesShown) parts += fmt::format(", {} more", item.sources.size() - kSourcesShown);
  if (item.overhead_ns > 0) parts += (parts.empty() ? "overhead " : ", overhead ") + duration_html(item.overhead_ns);
  for (std::size_t i = 0; i < std::min(kSourcesShown, item.senders.size()); ++i) {
    const auto& [sender, count] = item.senders[i];
    parts += fmt::format("{}{} ({})", i == 0 ? "; sent by " : ", ", code_html(sender), grouped(count));
  }
  if (item.remaining_per_second > 0)
    parts += fmt::format("; of them {:g} a second on each CPU is taken to stay", item.remaining_per_second);
  return html + "<br><span class=\"remark\">" + parts + "</span>";
}

std::string remedy_html(const analysis::Remedy& remedy, std::string_view known) {
  if (remedy.setting.empty() && remedy.state == analysis::RemedyState::advice) return escape_html(remedy.why);
  std::string what = remedy.setting.empty() ? escape_html(remedy.name) : code_html(views::place_text(remedy));
  if (!remedy.setting.empty() && remedy.place == analysis::RemedyPlace::boot)
    what = code_html(remedy.setting) + " on the kernel's command line";
  return what + ": " + escape_html(views::state_text(remedy, known));
}

std::string remedies_html(const analysis::AdviceItem& item, std::string_view known) {
  std::string html;
  for (const analysis::Remedy& remedy : item.remedies) html += "<li>" + remedy_html(remedy, known) + "</li>";
  return html.empty() ? "no remedy is known" : "<ul>" + html + "</ul>";
}

std::string items_table(const analysis::Advice& advice) {
  TableWriter table(
      "Noise by what can be done about it, the largest gain first",
      {"noise", ">measured", ">of the noise", ">gain, of the CPUs' time", "what to set, and whether it is"});
  std::uint64_t others_ns = 0;
  for (std::size_t i = 0; i < advice.items.size(); ++i) {
    const analysis::AdviceItem& item = advice.items[i];
    if (i >= kMostAdvice) {
      others_ns += item.total_ns;
      continue;
    }
    table.row({noise_html(item), duration_html(item.total_ns), of_noise_html(item.total_ns, advice),
               item.gain ? gain_html(*item.gain) : "none to expect", remedies_html(item, advice.why)});
  }
  if (advice.items.size() > kMostAdvice) {
    table.row({fmt::format("{} other kinds of noise", advice.items.size() - kMostAdvice), duration_html(others_ns),
               of_noise_html(others_ns, advice), "", ""});
  }
  if (advice.shared_overhead_ns > 0) {
    table.row({"overhead of detours with several of these", duration_html(advice.shared_overhead_ns),
               of_noise_html(advice.shared_overhead_ns, advice), "", "it goes where all of them do"});
  }
  table.sum({"all", duration_html(advice.detour_ns), of_noise_html(advice.detour_ns, advice), "", ""});
  return table.finish(
      "Gains: with 95% limits. Those of remedies that cure the same noise overlap. Each part of each detour is in one "
      "row.");
}

// Once for each, however many kinds of noise it helps against.
std::string settings_table(const analysis::Advice& advice) {
  TableWriter table("The settings", {"setting", "what it does", "what it does not, and what it costs"});
  std::set<analysis::RemedyId> told;
  for (std::size_t i = 0; i < std::min(advice.items.size(), kMostAdvice); ++i) {
    for (const analysis::Remedy& remedy : advice.items[i].remedies) {
      if (remedy.setting.empty() || !told.insert(remedy.id).second) continue;
      table.row({code_html(remedy.name), escape_html(remedy.why), escape_html(remedy.limits)});
    }
  }
  if (told.empty()) return "";
  return "<details><summary>What each setting does, and what it costs</summary>" + table.finish() + "</details>\n";
}

std::string plan_html(const analysis::AdvicePlan& plan) {
  std::string html = bounded_share_html(plan.sure.share);
  if (plan.at_most.share.value > plan.sure.share.value) html += ", at most " + bounded_share_html(plan.at_most.share);
  return html;
}

std::string together_html(const analysis::Advice& advice) {
  std::string html;
  if (advice.boot) {
    html += fmt::format("<p>The kernel's command line, as a whole: {}<br>gives back {} of the CPUs' time.</p>\n",
                        code_html(advice.boot_line), plan_html(*advice.boot));
  }
  return html + fmt::format("<p>All of it together gives back {}, of {} that has a cause in the kernel.</p>\n",
                            plan_html(advice.every), escape_html(views::format_share(advice.caused.value)));
}

}  // namespace

std::string advice_tables(const PageInput& input) {
  const analysis::Advice& advice = input.advice;
  std::string html =
      fmt::format("<p class=\"remark\">{} {}: {} of {} were stolen, {} of the time. ",
                  advice.cpus.size() == 1 ? "CPU" : "CPUs", format_cpu_list(advice.cpus),
                  duration_html(advice.detour_ns), duration_html(advice.observed_ns), bounded_share_html(advice.noise));
  html += advice.live ? "Settings are those of the time when this page was made; nothing was changed.</p>\n"
                      : "Settings are not known, but for the command line's: " + escape_html(advice.why) + ".</p>\n";
  if (advice.items.empty()) return html + "<p class=\"remark\">There is no noise.</p>\n";
  return html + together_html(advice) + items_table(advice) + settings_table(advice);
}

}  // namespace noised::page
