// SPDX-License-Identifier: Apache-2.0
// Numbers above, partners below, and chains in all the room between.
#include "noisectl/top/page.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "views/text.h"
#include "views/views.h"

namespace noised::client {
namespace {

using views::format_duration;
using views::format_share;

constexpr const char* kPageKeys = "arrows j k scroll  Esc q Backspace back  p pause  ? keys";

const TopSource* of_interval(const TopModel& model) {
  const std::vector<TopSource>& sources = model.delta().sources;
  const auto found = std::find_if(sources.begin(), sources.end(),
                                  [&model](const TopSource& each) { return each.key == model.opened(); });
  return found == sources.end() ? nullptr : &*found;
}

const ReportSource* of_report(const TopModel& model) {
  if (model.sample() == nullptr) return nullptr;
  const std::vector<ReportSource>& sources = model.sample()->report.sources;
  const auto found = std::find_if(sources.begin(), sources.end(), [&model](const ReportSource& each) {
    return TopKey{each.cpu, label_of(each.kind, each.name)} == model.opened();
  });
  return found == sources.end() ? nullptr : &*found;
}

std::uint64_t observed_ns(const TopModel& model) {
  for (const ReportCpu& cpu : model.sample()->report.cpus)
    if (cpu.cpu == model.opened()->cpu) return cpu.observed_ns;
  return 0;
}

std::string interval_row(const TopModel& model, const TopSource& source) {
  return fmt::format("{:<11} {:>9} {:>9.1f} {:>9} {:>8}", interval_text(model), source.count, source.per_second,
                     format_share(source.stolen_share), source.count == 0 ? "-" : format_duration(source.mean_ns));
}

std::string total_row(const ReportSource& source, std::uint64_t observed) {
  return fmt::format("{:<11} {:>9} {:>9.1f} {:>9} {:>8} {:>8} {:>8} {:>8}", "since start", source.count,
                     1e9 * views::ratio(source.count, observed), format_share(views::ratio(source.total_ns, observed)),
                     format_duration(source.mean_ns), format_duration(source.min_ns), format_duration(source.max_ns),
                     format_duration(source.stddev_ns));
}

void add_numbers(const TopModel& model, std::vector<TopLine>& lines) {
  lines.push_back({fmt::format("{:<11} {:>9} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8}", "", "count", "rate/s", "share",
                               "mean", "min", "max", "stddev"),
                   TopStyle::heading});
  const TopSource* recent = of_interval(model);
  const ReportSource* total = of_report(model);
  if (recent == nullptr || total == nullptr) {
    lines.push_back({"the daemon has not seen this source", TopStyle::faint});
    return;
  }
  if (!model.since_start()) lines.push_back({interval_row(model, *recent)});
  lines.push_back({total_row(*total, observed_ns(model))});
}

TopLine source_line(const TopModel& model) {
  const ReportSource* source = of_report(model);
  return {fmt::format("{} on CPU {}{}{}", model.opened()->label, model.opened()->cpu,
                      source == nullptr ? "" : "  " + source->category, model.paused() ? "  PAUSED" : ""),
          model.paused() ? TopStyle::alarm : TopStyle::title};
}

// Of how much of the truth the chains are.
void add_stream(const TopModel& model, std::vector<TopLine>& lines) {
  const TopChainsView* seen = model.chains();
  if (seen == nullptr) {
    lines.push_back({"waiting for detours", TopStyle::faint});
    return;
  }
  if (!seen->problem.empty()) lines.push_back({seen->problem + " (trying again)", TopStyle::alarm});
  lines.push_back({fmt::format("{} of {} detours of this CPU in {} had it; {} not received", seen->detours_with,
                               seen->detours, format_duration(seen->span_ns), seen->missed),
                   seen->missed > 0 ? TopStyle::alarm : TopStyle::good});
}

std::vector<TopLine> above(const TopModel& model) {
  std::vector<TopLine> lines = page_head(model);
  lines.push_back(source_line(model));
  add_numbers(model, lines);
  add_stream(model, lines);
  lines.push_back({fmt::format("{:>7} {:>8} {:>8}  {}", "count", "total", "max", "chain"), TopStyle::heading});
  return lines;
}

TopLine chain_line(const TopChain& chain) {
  return {fmt::format("{:>7} {:>8} {:>8}  {}", chain.count, format_duration(chain.total_ns),
                      chain.max_ns == 0 ? "-" : format_duration(chain.max_ns), chain.text)};
}

// At most a third of `room`: the chains are what the page is for.
std::vector<TopLine> below(const TopModel& model, std::size_t room) {
  const std::size_t most = room / 3;
  if (most < 2 || model.chains() == nullptr || model.chains()->partners.empty()) return {};
  const std::vector<TopPartner>& partners = model.chains()->partners;
  std::vector<TopLine> lines{
      {fmt::format("{:>7} {:>8} {:>8}  {}", "detours", "of its", "total", "shared with"), TopStyle::heading}};
  for (std::size_t i = 0; i < partners.size() && lines.size() < most; ++i) {
    if (lines.size() + 1 == most && i + 1 < partners.size()) {
      lines.push_back({fmt::format("{:>27}and {} more", "", partners.size() - i), TopStyle::faint});
      break;
    }
    const TopPartner& partner = partners[i];
    lines.push_back({fmt::format("{:>7} {:>8} {:>8}  {}", partner.detours,
                                 format_share(views::ratio(partner.detours, model.chains()->detours_with)),
                                 format_duration(partner.total_ns), partner.label)});
  }
  return lines;
}

}  // namespace

std::size_t chain_rows(const TopModel& model, std::size_t height) {
  const std::size_t room = rows_between(above(model).size(), height);
  return room - below(model, room).size();
}

std::vector<TopLine> lay_out_page(const TopModel& model, std::size_t width, std::size_t height) {
  std::vector<TopLine> lines = above(model);
  const std::size_t room = rows_between(lines.size(), height);
  std::vector<TopLine> partners = below(model, room);
  const std::size_t end = lines.size() + room - partners.size();
  if (const TopChainsView* seen = model.chains(); seen != nullptr) {
    for (std::size_t i = model.scroll_position(); i < seen->chains.size() && lines.size() < end; ++i)
      lines.push_back(chain_line(seen->chains[i]));
    if (seen->chains.empty() && lines.size() < end) lines.push_back({"not seen yet", TopStyle::faint});
  }
  // The partners stay where they are when there are few chains: eyes find them.
  if (!partners.empty()) lines.resize(end);
  std::move(partners.begin(), partners.end(), std::back_inserter(lines));
  return fit_to_screen(std::move(lines), kPageKeys, width, height);
}

}  // namespace noised::client
