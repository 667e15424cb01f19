// SPDX-License-Identifier: Apache-2.0
// What the noise costs a job on many nodes, and whose it is: as noisectl project tells it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/cpus.h"
#include "page/html.h"
#include "page/page.h"
#include "views/projection.h"
#include "views/text.h"

namespace noised::page {
namespace {

using views::format_share;
using views::needs_text;

std::string remark(const std::string& html) { return "<p class=\"remark\">" + html + "</p>\n"; }

std::string label(const analysis::RemovableSource& source) {
  return fmt::format("{}:{}", to_string(source.kind), source.name);
}

std::string delayed_html(const analysis::Projection& projection) {
  std::string html;
  for (const analysis::DelayedShare& delayed : projection.delayed)
    html += remark(escape_html(views::delayed_text(delayed)));
  return html;
}

std::string sizes_table(const analysis::Projection& projection) {
  TableWriter table(
      fmt::format("The job by its size; phases delayed: {}; slowdown: mean duration of its phases over the "
                  "grain, E(max of n) / G",
                  views::delay_name(projection.delayed.front().of_grain)),
      {">nodes", ">phases delayed", ">95% interval", ">slowdown", ">95% interval"});
  for (const analysis::JobSize& size : projection.sizes) {
    const analysis::Estimate& delayed = size.delayed;
    const analysis::Estimate& excess = size.excess;
    table.row({grouped(size.nodes), delayed.value ? escape_html(format_share(*delayed.value)) : "-",
               delayed.value ? escape_html(views::share_range(delayed)) : "",
               excess.value ? views::slowdown_text(*excess.value, *excess.low) : needs_text(excess),
               views::slowdown_limits(size)});
  }
  return table.finish();
}

std::string ns_html(double ns) { return duration_html(static_cast<std::uint64_t>(std::llround(ns))); }

std::string exceeded_table(const analysis::Projection& projection) {
  TableWriter table("Delays of a node's phases",
                    {">one phase in", ">is delayed by more than", ">95% interval", ">of the grain"});
  for (const analysis::ExceededDelay& row : projection.exceeded) {
    const std::string phases = fmt::format("{:.0f}", 1 / row.probability);
    const analysis::Estimate& delay = row.delay_ns;
    if (!delay.value) {
      table.row({phases, needs_text(delay), "", ""});
      continue;
    }
    table.row({phases, ns_html(*delay.value), ns_html(*delay.low) + " to " + ns_html(*delay.high),
               escape_html(format_share(*delay.value / static_cast<double>(projection.grain_ns)))});
  }
  return table.finish();
}

std::vector<std::string> gain_row(const analysis::SourceGain& gain, const analysis::JobSize& size, std::size_t place) {
  const analysis::Estimate& excess = gain.excess[place];
  const std::string source = code_html(label(gain.source));
  const std::string total = duration_html(gain.source.total_ns);
  const std::string longest = duration_html(gain.source.longest_ns);
  if (!excess.value) return {source, "-", needs_text(excess), "", total, longest};
  return {source,
          escape_html(format_share(*excess.value)),
          escape_html(fmt::format("{} to {}", format_share(*excess.low), format_share(*excess.high))),
          escape_html(format_share(*excess.value / *size.excess.value)),
          total,
          longest};
}

std::string others_html(const views::ProjectionView& view) {
  std::string html;
  if (const std::vector<analysis::RemovableSource> rest = views::not_projected(view); !rest.empty()) {
    std::uint64_t total_ns = 0;
    std::uint64_t longest_ns = 0;
    for (const analysis::RemovableSource& source : rest) {
      total_ns += source.total_ns;
      longest_ns = std::max(longest_ns, source.longest_ns);
    }
    html += remark(fmt::format("{} more sources took {} together, none longer than {} at once.", rest.size(),
                               duration_html(total_ns), duration_html(longest_ns)));
  }
  for (const analysis::RemovableSource& source : view.untimed)
    html += remark(fmt::format("{} ({} times) is counted, not timed: what removing it gives back is not known.",
                               code_html(label(source)), grouped(source.count)));
  return html;
}

std::string gains_table(const views::ProjectionView& view) {
  const analysis::Projection& projection = view.projection;
  if (!projection.ranked_by) return remark("Too little was observed to tell whose the delays are.");
  if (projection.gains.empty()) return remark("Whose the delays are, <code>noisectl project</code> tells.");
  const analysis::JobSize& size = projection.sizes[*projection.ranked_by];
  TableWriter table(
      fmt::format("What removing it gives back at {} nodes, in percent of the grain", grouped(size.nodes)),
      {"source", ">gives back", ">95% interval", ">of the delay", ">stolen now", ">longest"});
  for (const analysis::SourceGain& gain : projection.gains) table.row(gain_row(gain, size, *projection.ranked_by));
  return table.finish(
             "With a source goes what runs only for it or inside it. Gains of sources that share detours overlap: they "
             "do not add up.") +
         others_html(view);
}

std::string node_html(const analysis::Projection& projection) {
  std::string html = fmt::format("{} {}, {} observed", projection.cpus.size() == 1 ? "CPU" : "CPUs",
                                 format_cpu_list(projection.cpus), views::long_time_text(projection.observed_ns));
  if (!projection.left_out.empty())
    html += fmt::format(" (without {}, never observed for as long as a phase)", format_cpu_list(projection.left_out));
  return html;
}

}  // namespace

std::string projection_head(const PageInput& input) {
  const analysis::Projection& projection = input.projection.projection;
  const std::string grain = duration_html(projection.grain_ns);
  if (projection.cpus.empty()) {
    return remark(
        fmt::format("No phase of {} was observed: the longest time that a CPU was observed at a stretch is {}.", grain,
                    duration_html(input.projection.longest_stretch_ns)));
  }
  std::string html = remark(fmt::format(
      "A job that computes for {} (the grain) between two barriers, and there waits for the slowest of its nodes; a "
      "node is {}. {} Intervals are of 95%, for noise as it was seen: what comes to a CPU less often than once in {} "
      "may "
      "be unseen, however long it is, and moods that last longer than {} may look like none.",
      grain, node_html(projection), views::assumed_text(projection), views::long_time_text(projection.unseen_ns),
      views::mood_text(projection)));
  if (projection.together) html += remark(escape_html(views::together_text(*projection.together)) + ".");
  return html;
}

std::string projection_tables(const PageInput& input) {
  const analysis::Projection& projection = input.projection.projection;
  if (projection.cpus.empty()) return "";
  return sizes_table(projection) + delayed_html(projection) + gains_table(input.projection) +
         "<details><summary>Table of delays</summary>" + exceeded_table(projection) + "</details>\n";
}

}  // namespace noised::page
