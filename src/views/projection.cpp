// SPDX-License-Identifier: Apache-2.0
// The projection as an administrator reads it.
#include "views/project.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "views/estimate_text.h"
#include "views/format.h"
#include "views/report_tables.h"
#include "views/table.h"
#include "views/views.h"

namespace noised::views {
namespace {

std::string label(const RemovableSource& source) {
  return fmt::format("{}:{}", to_string(source.kind), printable(source.name));
}

std::string ns_text(double ns) { return format_duration(static_cast<std::uint64_t>(std::llround(ns))); }

std::string head_text(const ProjectionView& view) {
  const Projection& projection = view.projection;
  std::string text = fmt::format(
      "\nA job that computes for {} between two barriers (the grain), on n nodes; a node is {} {}, {} observed.\n",
      format_duration(projection.grain_ns), projection.cpus.size() == 1 ? "CPU" : "CPUs",
      fmt::join(projection.cpus, ", "), long_time_text(projection.observed_ns));
  if (!projection.left_out.empty())
    text += fmt::format("Not in it: CPUs {}, never observed for as long as a phase.\n",
                        fmt::join(projection.left_out, ", "));
  return text + fmt::format(
                    "CPUs and nodes are taken as independent, which bounds the cost from above. Intervals are of 95%, "
                    "for noise as it\nwas seen: what comes to a CPU less often than once in {} may be unseen, however "
                    "long it is.\n",
                    long_time_text(projection.unseen_ns));
}

std::string delayed_text(const Projection& projection) {
  if (projection.delayed_at_most)
    return fmt::format("\np, that a phase of a node is delayed at all: none was; below {} (95%)\n",
                       format_share(*projection.delayed_at_most));
  const Estimate& p = projection.delayed;
  return fmt::format("\np, that a phase of a node is delayed at all: {}\n",
                     p.value ? fmt::format("{} ({})", format_share(*p.value), share_range(p)) : needs_text(p));
}

std::string exceeded_text(const Projection& projection) {
  Table table({{"one phase of a node in", Table::Align::right},
               {"is delayed by more than", Table::Align::right},
               {"95% interval", Table::Align::left},
               {"of the grain", Table::Align::right}});
  for (const ExceededDelay& row : projection.exceeded) {
    const std::string share = fmt::format("{:.0f}", 1 / row.probability);
    const Estimate& delay = row.delay_ns;
    if (!delay.value) {
      table.add({share, needs_text(delay), "", ""});
      continue;
    }
    table.add({share, ns_text(*delay.value), fmt::format("{} to {}", ns_text(*delay.low), ns_text(*delay.high)),
               format_share(*delay.value / static_cast<double>(projection.grain_ns))});
  }
  return table.text();
}

std::vector<std::string> size_row(const JobSize& size) {
  std::vector<std::string> row{std::to_string(size.nodes)};
  if (size.delayed.value) {
    row.push_back(format_share(*size.delayed.value));
    row.push_back(share_range(size.delayed));
    row.push_back(*size.linear < 1 ? fmt::format("+{}", format_share(std::max(0.0, *size.linear_error))) : "-");
  } else {
    row.insert(row.end(), {"-", "", "-"});
  }
  const Estimate& excess = size.excess;
  row.push_back(excess.value ? slowdown_text(*excess.value, *excess.low) : needs_text(excess));
  row.push_back(excess.value ? slowdown_range(excess) : "");
  return row;
}

std::string sizes_text(const Projection& projection) {
  Table table({{"nodes", Table::Align::right},
               {"phases delayed", Table::Align::right},
               {"95% interval", Table::Align::left},
               {"error of p*n", Table::Align::right},
               {"slowdown", Table::Align::right},
               {"95% interval", Table::Align::left}});
  for (const JobSize& size : projection.sizes) table.add(size_row(size));
  return "\nslowdown: mean duration of the job's phases over the grain, E(max of n) / G\n" + table.text();
}

std::string gains_text(const Projection& projection) {
  if (!projection.ranked_by || projection.gains.empty()) return "";
  const JobSize& size = projection.sizes[*projection.ranked_by];
  Table table({{"gives back", Table::Align::right},
               {"95% interval", Table::Align::left},
               {"of the delay", Table::Align::right},
               {"stolen now", Table::Align::right},
               {"longest", Table::Align::right},
               {"source", Table::Align::left}});
  for (const SourceGain& gain : projection.gains) {
    const Estimate& excess = gain.excess[*projection.ranked_by];
    const std::string total = format_duration(gain.source.total_ns);
    const std::string longest = format_duration(gain.source.longest_ns);
    if (excess.value) {
      table.add({format_share(*excess.value),
                 fmt::format("{} to {}", format_share(*excess.low), format_share(*excess.high)),
                 format_share(*excess.value / *size.excess.value), total, longest, label(gain.source)});
    } else {
      table.add({"-", needs_text(excess), "", total, longest, label(gain.source)});
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
  if (const std::vector<RemovableSource> rest = not_projected(view); !rest.empty()) {
    std::uint64_t total_ns = 0;
    std::uint64_t longest_ns = 0;
    for (const RemovableSource& source : rest) {
      total_ns += source.total_ns;
      longest_ns = std::max(longest_ns, source.longest_ns);
    }
    text += fmt::format("and {} more sources: {} together, none longer than {} at once\n", rest.size(),
                        format_duration(total_ns), format_duration(longest_ns));
  }
  for (const RemovableSource& source : view.untimed)
    text += fmt::format("{} ({} times) is counted, not timed: what removing it gives back is not known\n",
                        label(source), source.count);
  return text;
}

}  // namespace

std::vector<RemovableSource> not_projected(const ProjectionView& view) {
  std::vector<RemovableSource> rest;
  for (const RemovableSource& source : view.all_sources) {
    const auto& gains = view.projection.gains;
    const bool projected =
        std::any_of(gains.begin(), gains.end(), [&](const SourceGain& gain) { return gain.source.id == source.id; });
    if (!projected) rest.push_back(source);
  }
  return rest;
}

std::string to_text(const ProjectionView& view) {
  const Projection& projection = view.projection;
  std::string text = report_head(view.report);
  if (projection.cpus.empty())
    return text +
           fmt::format("\nno phase of {} was observed: the longest time that a CPU was observed at a stretch is {}\n",
                       format_duration(projection.grain_ns), format_duration(view.longest_stretch_ns)) +
           report_tail(view.report);
  text += head_text(view) + delayed_text(projection) + exceeded_text(projection) + sizes_text(projection);
  return text + gains_text(projection) + others_text(view) + report_tail(view.report);
}

}  // namespace noised::views
