// SPDX-License-Identifier: Apache-2.0
// A peak from events or from buckets, and both forms of it.
#include "views/peak.h"
#include "base/text.h"
#include "views/lost.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "model/json_fields.h"
#include "model/json_parts.h"
#include "views/text.h"
#include "views/views.h"

namespace noised::views {
namespace {

std::string peak_label(SourceId id, const SourceTable& sources) {
  if (id == kOtherSource) return "other";
  return fmt::format("{}:{}", to_string(sources.at(id).kind), sources.at(id).name);
}

// Shares, and the largest first.
void finish(std::vector<PeakPart>& parts) {
  std::uint64_t count = 0;
  for (const PeakPart& part : parts) count += part.count;
  for (PeakPart& part : parts) part.share = ratio(part.count, count);
  std::stable_sort(parts.begin(), parts.end(), [](const PeakPart& a, const PeakPart& b) { return a.count > b.count; });
}

std::string used_text(const PeakView& peak) {
  if (peak.exact) return fmt::format("{} to {}", format_duration(peak.low_ns), format_duration(peak.high_ns));
  return fmt::format("{} ns to {} ns (whole buckets of the histograms, each 1/64 wide, that touch {} ns to {} ns)",
                     peak.used_low_ns, peak.used_high_ns, peak.low_ns, peak.high_ns);
}

// As timed(), of what a histogram knows.
bool only_counted(const HistogramSeriesView& series) {
  return series.kind == "page_fault" && !series.buckets.empty() && series.buckets.back().high_ns == 0;
}

std::string untimed_text(const std::vector<PeakPart>& parts) {
  std::string text;
  for (const PeakPart& part : parts)
    text += fmt::format("{}{} ({})", text.empty() ? "\nnot timed, and in no range: " : ", ",
                        printable(part.sources.front()), part.count);
  return text.empty() ? text : text + "\n";
}

Json untimed_json(const std::vector<PeakPart>& parts) {
  Json json = Json::array();
  for (const PeakPart& part : parts) json.push_back(Json{{"source", part.sources.front()}, {"count", part.count}});
  return json;
}

std::string neighbours_text(const analysis::Neighbours& next, bool exact) {
  if (!next.below_ns && !next.above_ns) return "there are none of any duration";
  const auto one = [](const std::optional<std::uint64_t>& ns) { return ns ? fmt::format("{} ns", *ns) : "none"; };
  return fmt::format("the next are, below {}, above {}{}", one(next.below_ns), one(next.above_ns),
                     exact ? "" : " (bounds of their buckets)");
}

std::string parts_text(const std::vector<PeakPart>& parts, const char* title) {
  CellTable table({{"count", "", Table::Align::right},
                   {"total", "", Table::Align::right},
                   {"of the count", "", Table::Align::right},
                   {title, "", Table::Align::left}});
  for (const PeakPart& part : parts)
    table.add({number_cell(part.count), part.total_ns ? time_cell(*part.total_ns) : unknown_cell(),
               share_cell(part.share), name_cell(fmt::format("{}", fmt::join(part.sources, " + ")))});
  return table.text();
}

Json parts_json(const std::vector<PeakPart>& parts) {
  Json json = Json::array();
  for (const PeakPart& part : parts) {
    json.push_back(
        Json{{"sources", part.sources}, {"count", part.count}, {"total_ns", nullptr}, {"share", part.share}});
    if (part.total_ns) json.back()["total_ns"] = *part.total_ns;
  }
  return json;
}

Json neighbours_json(const analysis::Neighbours& next) {
  Json json{{"below_ns", nullptr}, {"above_ns", nullptr}};
  if (next.below_ns) json["below_ns"] = *next.below_ns;
  if (next.above_ns) json["above_ns"] = *next.above_ns;
  return json;
}

}  // namespace

PeakView peak_of(const analysis::PeakCounter& counter, const SourceTable& sources, std::uint64_t low_ns,
                 std::uint64_t high_ns, const Report& report) {
  PeakView peak;
  peak.low_ns = peak.used_low_ns = low_ns;
  peak.high_ns = peak.used_high_ns = high_ns;
  peak.exact = true;
  peak.detours = counter.detours().count();
  peak.total_ns = counter.detours().total_ns();
  for (const analysis::PeakCounter::SourceCount& each : counter.source_counts())
    peak.sources.push_back({{peak_label(each.id, sources)}, each.moments.count(), each.moments.total_ns(), 0});
  peak.combinations.emplace();
  const auto add = [&](const Combination& combination) {
    PeakPart part{{}, combination.moments.count(), combination.moments.total_ns(), 0};
    for (const SourceId id : combination.key.sources()) part.sources.push_back(peak_label(id, sources));
    if (part.count != 0) peak.combinations->push_back(std::move(part));
  };
  for (const Combination& combination : counter.combinations().kept()) add(combination);
  add(counter.combinations().other());
  finish(peak.sources);
  finish(*peak.combinations);
  peak.next_detours = counter.next_detours();
  peak.next_self_times = counter.next_self_times();
  for (const analysis::PeakCounter::SourceCount& each : counter.untimed())
    peak.untimed.push_back({{peak_label(each.id, sources)}, each.moments.count(), std::nullopt, 0});
  peak.lost = report.lost;
  peak.unsupported = report.unsupported;
  return peak;
}

PeakView peak_of(const HistogramView& histograms, std::uint64_t low_ns, std::uint64_t high_ns) {
  PeakView peak;
  peak.low_ns = peak.used_low_ns = low_ns;
  peak.high_ns = peak.used_high_ns = high_ns;
  std::map<std::string, std::uint64_t> counts;
  std::map<std::string, std::uint64_t> untimed;
  for (const HistogramSeriesView& series : histograms.series) {
    const bool all = series.kind.empty();
    if (only_counted(series)) {
      untimed[series.kind + ":" + series.name] += series.count;
      continue;
    }
    for (const HistogramBucketView& bucket : series.buckets) {
      analysis::Neighbours& next = all ? peak.next_detours : peak.next_self_times;
      if (bucket.high_ns < low_ns) next.add(bucket.high_ns, low_ns, high_ns);
      if (bucket.low_ns > high_ns) next.add(bucket.low_ns, low_ns, high_ns);
      if (bucket.high_ns < low_ns || bucket.low_ns > high_ns) continue;
      peak.used_low_ns = std::min(peak.used_low_ns, bucket.low_ns);
      peak.used_high_ns = std::max(peak.used_high_ns, bucket.high_ns);
      (all ? peak.detours : counts[series.kind + ":" + series.name]) += bucket.count;
    }
  }
  for (const auto& each : counts) peak.sources.push_back({{each.first}, each.second, std::nullopt, 0});
  for (const auto& each : untimed) peak.untimed.push_back({{each.first}, each.second, std::nullopt, 0});
  finish(peak.sources);
  return peak;
}

std::string to_text(const PeakView& peak) {
  std::string text = fmt::format("from {}\n\n", used_text(peak));
  if (peak.detours == 0) {
    text += fmt::format("no detour is so long: {}\n", neighbours_text(peak.next_detours, peak.exact));
  } else {
    text += fmt::format("{} detours{}\n", peak.detours,
                        peak.total_ns ? fmt::format(", {} together", format_duration(*peak.total_ns)) : "");
    text += peak.combinations ? parts_text(*peak.combinations, "what happened in them")
                              : "what happened in them is not in histograms: record, and ask the recording\n";
  }
  text += "\n";
  if (peak.sources.empty()) {
    text += fmt::format("no source's self time is so long: {}\n", neighbours_text(peak.next_self_times, peak.exact));
  } else {
    text += "self times of sources, in detours of any length\n" + parts_text(peak.sources, "source");
  }
  text += untimed_text(peak.untimed);
  text += fmt::format("\nlost: {}\n", peak.lost ? lost_text(*peak.lost) : "see 'noisectl status'");
  return peak.unsupported ? text + unsupported_text(*peak.unsupported) : text;
}

std::string to_json(const PeakView& peak) {
  Json json{{"schema", "noised.peak/1"},
            {"low_ns", peak.low_ns},
            {"high_ns", peak.high_ns},
            {"exact", peak.exact},
            {"used_low_ns", peak.used_low_ns},
            {"used_high_ns", peak.used_high_ns},
            {"detours", peak.detours},
            {"total_ns", nullptr},
            {"combinations", nullptr},
            {"sources", parts_json(peak.sources)},
            {"untimed", untimed_json(peak.untimed)},
            {"next_detours", neighbours_json(peak.next_detours)},
            {"next_self_times", neighbours_json(peak.next_self_times)},
            {"lost", nullptr},
            {"unsupported", nullptr}};
  if (peak.total_ns) json["total_ns"] = *peak.total_ns;
  if (peak.combinations) json["combinations"] = parts_json(*peak.combinations);
  if (peak.lost) json["lost"] = lost_json(*peak.lost);
  if (peak.unsupported) json["unsupported"] = *peak.unsupported;
  return dump(json);
}

}  // namespace noised::views
