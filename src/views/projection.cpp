// SPDX-License-Identifier: Apache-2.0
// The projection as JSON.
#include "views/projection.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "model/json_fields.h"
#include "model/json_parts.h"
#include "views/report.h"
#include "views/sources.h"
#include "views/text.h"
#include "views/views.h"

namespace noised::views {

std::string long_time_text(std::uint64_t ns) {
  constexpr double kHourNs = 3'600e9;
  const double hours = static_cast<double>(ns) / kHourNs;
  if (hours < 1) return format_duration(ns);
  return hours < 72 ? fmt::format("{:.3g} h", hours) : fmt::format("{:.0f} days", hours / 24);
}

std::string needs_text(const analysis::Estimate& estimate) {
  return estimate.needs_ns ? fmt::format("needs {} more", long_time_text(*estimate.needs_ns)) : "not seen";
}

std::string share_range(const analysis::Estimate& estimate) {
  return fmt::format("{} to {}", format_share(std::min(*estimate.low, 1.0)),
                     format_share(std::min(*estimate.high, 1.0)));
}

std::string slowdown_text(double excess, double least) {
  const int decimals = least > 0 ? std::clamp(2 - static_cast<int>(std::floor(std::log10(least))), 2, 9) : 2;
  return fmt::format("{:.{}f}", 1 + excess, decimals);
}

std::string slowdown_range(const analysis::Estimate& excess) {
  return fmt::format("{} to {}", slowdown_text(*excess.low, *excess.low), slowdown_text(*excess.high, *excess.low));
}

std::string slowdown_limits(const analysis::JobSize& size) {
  if (size.excess.value) return slowdown_range(size.excess);
  return size.at_least ? "at least " + slowdown_text(*size.at_least, *size.at_least) : "";
}

std::string assumed_text(const analysis::Projection& projection) {
  if (projection.cpus.size() == 1) return "Nodes are taken as independent.";
  if (projection.joint) return "Nodes are taken as independent, and their CPUs as they were observed together.";
  return fmt::format("CPUs and nodes are taken as independent: {}.",
                     projection.waited
                         ? "of one so little was told for so long that what was known of the others had no room"
                         : "not all CPUs were observed at the same times");
}

std::string mood_text(const analysis::Projection& projection) {
  return long_time_text(
      static_cast<std::uint64_t>(static_cast<double>(projection.observed_ns) * analysis::kLongestMood));
}

std::string delay_name(double of_grain) {
  return of_grain == 0 ? "at all" : fmt::format("by more than {:g}% of the grain", of_grain * 100);
}

std::string delayed_text(const analysis::DelayedShare& delayed) {
  const std::string what = delayed.of_grain == 0
                               ? std::string("p, that a phase of a node is delayed at all: ")
                               : fmt::format("p, that a phase of a node is delayed by more than {:g}% of the grain: ",
                                             delayed.of_grain * 100);
  if (delayed.at_most) return fmt::format("{}none was; below {} (95%)", what, format_share(*delayed.at_most));
  const analysis::Estimate& p = delayed.p;
  return what + (p.value ? fmt::format("{} ({})", format_share(*p.value), share_range(p)) : needs_text(p));
}

std::string together_text(const analysis::Estimate& together) {
  if (!together.value) return "whether noise of the node's CPUs comes at once or in turns: " + needs_text(together);
  const char* const how = *together.high < 1 ? "at once" : *together.low > 1 ? "in turns" : "by chance";
  return fmt::format(
      "noise of the node's CPUs comes {}: its phases' mean delay is {:.2f} ({:.2f} to {:.2f}) of what chance would "
      "make it",
      how, *together.value, *together.low, *together.high);
}

namespace {

std::string removable_label(const analysis::RemovableSource& source) {
  return printable(short_label(to_string(source.kind), source.name));
}

std::string ns_text(double ns) { return format_duration(static_cast<std::uint64_t>(std::llround(ns))); }

std::string head_text(const ProjectionView& view) {
  const analysis::Projection& projection = view.projection;
  std::string text = fmt::format(
      "\nA job that computes for {} between two barriers (the grain), on n nodes; a node is {} {}, {} observed.\n",
      format_duration(projection.grain_ns), projection.cpus.size() == 1 ? "CPU" : "CPUs",
      fmt::join(projection.cpus, ", "), long_time_text(projection.observed_ns));
  if (!projection.left_out.empty())
    text += fmt::format("Not in it: CPUs {}, never observed for as long as a phase.\n",
                        fmt::join(projection.left_out, ", "));
  return text + fmt::format(
                    "{}\nIntervals are of 95%, for noise as it was seen: what comes to a CPU less often than once in "
                    "{} may be\n"
                    "unseen, however long it is, and moods that last longer than {} may look like none.\n",
                    assumed_text(projection), long_time_text(projection.unseen_ns), mood_text(projection));
}

std::string indirect_text(const ProjectionView& view) {
  if (!view.indirect) return "";
  const analysis::CostEstimate& added = view.indirect->added;
  std::uint64_t stolen_ns = 0;
  for (const ReportCpu& cpu : view.report.cpus) stolen_ns += cpu.detour_ns;
  const auto share = [&](double ns) { return format_share(stolen_ns == 0 ? 0 : ns / static_cast<double>(stolen_ns)); };
  std::string text = fmt::format(
      "Detours are longer by what they cost the work behind them, by {}: {} in all, {} ({} to {}) of the stolen time.\n"
      "How well that is known is not in the intervals below.\n",
      printable(view.indirect->file), ns_text(added.ns), share(added.ns), share(added.low_ns), share(added.high_ns));
  if (!view.indirect->unknown.empty())
    text += printable(fmt::format("Of these it is not known: {}", fmt::join(view.indirect->unknown, ", "))) + "\n";
  return text;
}

std::string delays_text(const analysis::Projection& projection) {
  std::string text = "\n";
  for (const analysis::DelayedShare& delayed : projection.delayed) text += delayed_text(delayed) + "\n";
  return text;
}

std::string exceeded_text(const analysis::Projection& projection) {
  Table table({{"one phase of a node in", Table::Align::right},
               {"is delayed by more than", Table::Align::right},
               {"95% interval", Table::Align::left},
               {"of the grain", Table::Align::right}});
  for (const analysis::ExceededDelay& row : projection.exceeded) {
    const std::string share = fmt::format("{:.0f}", 1 / row.probability);
    const analysis::Estimate& delay = row.delay_ns;
    if (!delay.value) {
      table.add({share, needs_text(delay), "", ""});
      continue;
    }
    table.add({share, ns_text(*delay.value), fmt::format("{} to {}", ns_text(*delay.low), ns_text(*delay.high)),
               format_share(*delay.value / static_cast<double>(projection.grain_ns))});
  }
  return table.text();
}

std::vector<std::string> size_row(const analysis::JobSize& size) {
  std::vector<std::string> row{std::to_string(size.nodes)};
  if (size.delayed.value) {
    row.push_back(format_share(*size.delayed.value));
    row.push_back(share_range(size.delayed));
    row.push_back(*size.linear < 1 ? fmt::format("+{}", format_share(std::max(0.0, *size.linear_error))) : "-");
  } else {
    row.insert(row.end(), {"-", "", "-"});
  }
  const analysis::Estimate& excess = size.excess;
  row.push_back(excess.value ? slowdown_text(*excess.value, *excess.low) : needs_text(excess));
  row.push_back(slowdown_limits(size));
  return row;
}

std::string sizes_text(const analysis::Projection& projection) {
  Table table({{"nodes", Table::Align::right},
               {"phases delayed", Table::Align::right},
               {"95% interval", Table::Align::left},
               {"error of p*n", Table::Align::right},
               {"slowdown", Table::Align::right},
               {"95% interval", Table::Align::left}});
  for (const analysis::JobSize& size : projection.sizes) table.add(size_row(size));
  return fmt::format("\nphases delayed: {}; slowdown: mean phase of the job over the grain, E(max of n) / G\n",
                     delay_name(projection.delayed.front().of_grain)) +
         table.text();
}

std::string gains_text(const analysis::Projection& projection) {
  if (!projection.ranked_by || projection.gains.empty()) return "";
  const analysis::JobSize& size = projection.sizes[*projection.ranked_by];
  Table table({{"gives back", Table::Align::right},
               {"95% interval", Table::Align::left},
               {"of the delay", Table::Align::right},
               {"stolen now", Table::Align::right},
               {"longest", Table::Align::right},
               {"source", Table::Align::left}});
  for (const analysis::SourceGain& gain : projection.gains) {
    const analysis::Estimate& excess = gain.excess[*projection.ranked_by];
    const std::string total = format_duration(gain.source.total_ns);
    const std::string longest = format_duration(gain.source.longest_ns);
    if (excess.value) {
      table.add({format_share(*excess.value),
                 fmt::format("{} to {}", format_share(*excess.low), format_share(*excess.high)),
                 format_share(*excess.value / *size.excess.value), total, longest, removable_label(gain.source)});
    } else {
      table.add({"-", needs_text(excess), "", total, longest, removable_label(gain.source)});
    }
  }
  return fmt::format(
             "\nwhat removing a source would give back at {} nodes, in percent of the grain, with what runs only for "
             "it or inside it\n(gains of sources that share detours overlap: they do not add up)\n",
             size.nodes) +
         table.text();
}

std::string others_text(const ProjectionView& view) {
  std::string text;
  if (const std::vector<analysis::RemovableSource> rest = not_projected(view); !rest.empty()) {
    std::uint64_t total_ns = 0;
    std::uint64_t longest_ns = 0;
    for (const analysis::RemovableSource& source : rest) {
      total_ns += source.total_ns;
      longest_ns = std::max(longest_ns, source.longest_ns);
    }
    text += fmt::format("and {} more sources: {} together, none longer than {} at once\n", rest.size(),
                        format_duration(total_ns), format_duration(longest_ns));
  }
  for (const analysis::RemovableSource& source : view.untimed)
    text += fmt::format("{} ({} times) is counted, not timed: what removing it gives back is not known\n",
                        removable_label(source), source.count);
  return text;
}

}  // namespace

std::vector<analysis::RemovableSource> not_projected(const ProjectionView& view) {
  std::vector<analysis::RemovableSource> rest;
  for (const analysis::RemovableSource& source : view.all_sources) {
    const auto& gains = view.projection.gains;
    const bool projected = std::any_of(gains.begin(), gains.end(),
                                       [&](const analysis::SourceGain& gain) { return gain.source.id == source.id; });
    if (!projected) rest.push_back(source);
  }
  return rest;
}

std::string to_text(const ProjectionView& view) {
  const analysis::Projection& projection = view.projection;
  std::string text = report_head(view.report);
  if (projection.cpus.empty())
    return text +
           fmt::format("\nno phase of {} was observed: the longest time that a CPU was observed at a stretch is {}\n",
                       format_duration(projection.grain_ns), format_duration(view.longest_stretch_ns)) +
           report_tail(view.report);
  text += head_text(view) + indirect_text(view);
  if (projection.together) text += "\n" + together_text(*projection.together) + "\n";
  text += delays_text(projection) + exceeded_text(projection) + sizes_text(projection);
  return text + gains_text(projection) + others_text(view) + report_tail(view.report);
}

namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json estimate_json(const analysis::Estimate& estimate) {
  return Json{{"value", or_null(estimate.value)},
              {"low", or_null(estimate.low)},
              {"high", or_null(estimate.high)},
              {"needs_ns", or_null(estimate.needs_ns)}};
}

Json whole_ns(const std::optional<double>& ns) { return ns ? Json(std::llround(*ns)) : Json(nullptr); }

Json exceeded_json(const std::vector<analysis::ExceededDelay>& exceeded) {
  Json rows = Json::array();
  for (const analysis::ExceededDelay& row : exceeded) {
    rows.push_back(Json{{"probability", row.probability},
                        {"delay_ns", whole_ns(row.delay_ns.value)},
                        {"low_ns", whole_ns(row.delay_ns.low)},
                        {"high_ns", whole_ns(row.delay_ns.high)},
                        {"needs_ns", or_null(row.delay_ns.needs_ns)}});
  }
  return rows;
}

Json delays_json(const std::vector<analysis::DelayedShare>& delays) {
  Json rows = Json::array();
  for (const analysis::DelayedShare& delayed : delays) {
    rows.push_back(
        Json{{"of_grain", delayed.of_grain}, {"p", estimate_json(delayed.p)}, {"p_at_most", or_null(delayed.at_most)}});
  }
  return rows;
}

analysis::Estimate slowdown_of(analysis::Estimate excess) {
  for (std::optional<double>* const end : {&excess.value, &excess.low, &excess.high}) {
    if (*end) **end += 1;
  }
  return excess;
}

Json sizes_json(const std::vector<analysis::JobSize>& sizes) {
  Json rows = Json::array();
  for (const analysis::JobSize& size : sizes) {
    rows.push_back(Json{{"nodes", size.nodes},
                        {"delayed", estimate_json(size.delayed)},
                        {"linear", or_null(size.linear)},
                        {"linear_error", or_null(size.linear_error)},
                        {"slowdown", estimate_json(slowdown_of(size.excess))},
                        {"slowdown_at_least", size.at_least ? Json(1 + *size.at_least) : Json(nullptr)}});
  }
  return rows;
}

std::string removable_name(const analysis::RemovableSource& source) {
  return fmt::format("{}:{}", to_string(source.kind), source.name);
}

Json source_json(const analysis::RemovableSource& source) {
  return Json{{"source", removable_name(source)},
              {"count", source.count},
              {"total_ns", source.total_ns},
              {"max_ns", source.longest_ns}};
}

Json sources_json(const std::vector<analysis::RemovableSource>& sources) {
  Json rows = Json::array();
  for (const analysis::RemovableSource& source : sources) rows.push_back(source_json(source));
  return rows;
}

Json gains_json(const analysis::Projection& projection) {
  Json rows = Json::array();
  for (const analysis::SourceGain& gain : projection.gains) {
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

namespace {

Json not_joint_because(const analysis::Projection& projection) {
  if (projection.joint) return nullptr;
  return projection.waited ? "waited" : "times";
}

}  // namespace

std::string to_json(const ProjectionView& view) {
  const analysis::Projection& projection = view.projection;
  const analysis::DelayedShare first = projection.delayed.empty() ? analysis::DelayedShare() : projection.delayed[0];
  Json ranked_by = nullptr;
  if (projection.ranked_by) ranked_by = projection.sizes[*projection.ranked_by].nodes;
  Json json{{"schema", "noised.projection/1"},
            {"grain_ns", projection.grain_ns},
            {"cpus", projection.cpus},
            {"cpus_without_a_phase", projection.left_out},
            {"longest_stretch_ns", view.longest_stretch_ns},
            {"observed_ns", projection.observed_ns},
            {"unseen_ns", projection.unseen_ns},
            {"confidence", 0.95},
            {"p", estimate_json(first.p)},
            {"p_at_most", or_null(first.at_most)},
            {"delays", delays_json(projection.delayed)},
            {"joint", projection.joint},
            {"not_joint_because", not_joint_because(projection)},
            {"together", projection.together ? estimate_json(*projection.together) : Json(nullptr)},
            {"exceeded", exceeded_json(projection.exceeded)},
            {"sizes", sizes_json(projection.sizes)},
            {"ranked_by_nodes", std::move(ranked_by)},
            {"sources", gains_json(projection)},
            {"sources_not_projected", sources_json(not_projected(view))},
            {"sources_not_timed", sources_json(view.untimed)},
            {"lost", lost_json(view.report.lost)},
            {"unsupported", view.report.unsupported}};
  if (view.indirect)
    json["indirect"] = Json{{"file", view.indirect->file},
                            {"added_ns", std::llround(view.indirect->added.ns)},
                            {"low_ns", std::llround(view.indirect->added.low_ns)},
                            {"high_ns", std::llround(view.indirect->added.high_ns)},
                            {"unknown", view.indirect->unknown}};
  return dump(json);
}

}  // namespace noised::views
