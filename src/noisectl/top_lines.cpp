// SPDX-License-Identifier: Apache-2.0
// Title, problem, help and losses; cutting to size.
#include "noisectl/top_lines.h"

#include <algorithm>

#include <fmt/format.h>

#include "views/format.h"
#include "views/json_parts.h"
#include "views/views.h"

namespace noised::client {
namespace {

std::string title(const TopModel& model) {
  const TopSample* sample = model.sample();
  if (sample == nullptr) return "noised";
  const Report& report = sample->report;
  if (sample->replay) {
    return fmt::format("recording  {}  kernel {}  at {}, {:.2f} times as fast", report.host, report.kernel,
                       views::format_duration(sample->replay->position_ns), sample->replay->speed);
  }
  std::string text =
      fmt::format("noised  {}  kernel {}  up {}", report.host, report.kernel,
                  views::format_duration(sample->status ? sample->status->uptime_ns : report.elapsed_ns));
  if (sample->status) text += "  housekeeping cpus " + sample->status->housekeeping_cpus;
  return text;
}

// A recording has an end, and the screen stays.
void add_end(const TopReplay& replay, std::vector<TopLine>& lines) {
  if (!replay.problem.empty()) lines.push_back({replay.problem, TopStyle::alarm});
  if (replay.ended) lines.push_back({"the recording ends here", TopStyle::title});
}

TopLine lost(const Report& report) {
  const bool any = views::anything_lost(report.lost);
  return {(any ? "LOST: " : "lost: ") + views::lost_text(report.lost), any ? TopStyle::alarm : TopStyle::good};
}

}  // namespace

std::vector<TopLine> page_head(const TopModel& model) {
  std::vector<TopLine> lines{{title(model), TopStyle::title}};
  if (model.sample() != nullptr && model.sample()->replay) add_end(*model.sample()->replay, lines);
  if (!model.problem().empty()) lines.push_back({model.problem() + " (trying again)", TopStyle::alarm});
  if (model.help()) {
    lines.push_back({"s sort  t stolen  r rate  m mean  x max  n name  c cpu  f category  p pause", TopStyle::good});
    lines.push_back(
        {"arrows, j, k, PgUp, PgDn, Home, End move  Enter opens a source, with its chains", TopStyle::good});
    lines.push_back({"Esc, q, Backspace go back  ? hides this", TopStyle::good});
  }
  if (model.sample() != nullptr) {
    std::string blind = views::blind_text(model.sample()->report.lost);
    if (!blind.empty()) lines.push_back({std::move(blind), TopStyle::alarm});
  }
  if (model.sample() != nullptr)
    lines.push_back(lost(model.sample()->report));
  else if (model.problem().empty())
    lines.push_back({"waiting for the first figures", TopStyle::plain});
  return lines;
}

std::string interval_text(const TopModel& model) {
  return model.since_start() ? std::string("since start") : "last " + views::format_duration(model.delta().interval_ns);
}

std::vector<TopLine> fit_to_screen(std::vector<TopLine> lines, const std::string& keys, std::size_t width,
                                   std::size_t height) {
  lines.resize(height < 2 ? std::min(lines.size(), height) : height - 1);
  if (height >= 2) lines.push_back({keys, TopStyle::faint});
  for (TopLine& line : lines) line.text = views::printable(line.text).substr(0, width);
  return lines;
}

std::size_t rows_between(std::size_t above, std::size_t height) { return height > above + 1 ? height - above - 1 : 0; }

}  // namespace noised::client
